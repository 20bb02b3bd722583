"""Every page of `slicc explain`: its example has the finding, and its mended form has not.

The texts that are compiled are those that the page prints. `FRAMES` says where in the protocol of
`tests.slicc.diagnostics.page_protocol` they stand, and `at`, a piece of the line that the finding
must point at (else the first line of the example).
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from slicc.compiler import check_source, compile_files
from slicc.diagnostics.code import Code
from slicc.diagnostics.model import Diagnostic, DiagnosticSink, Severity
from slicc.diagnostics.registry import AREAS, CODES
from slicc.parser.parser import parse
from slicc.source import SourceFile
from tests.sampling import sampled
from tests.slicc.diagnostics.page_protocol import protocol, smallest


class Frame(NamedTuple):
    """``place`` is taken by the example; ``around``: the text of other places.

    ``at``: a piece of the line that the finding points at, if that is not the example's first line.
    ``also``: findings that follow from it.
    ``rest`` stands for a line ``// …``, which the page leaves to the reader.
    """

    place: str
    at: str = ""
    rest: str = smallest()
    around: dict[str, str] = {}
    also: AbstractSet[str] = frozenset()


def frame(place: str, at: str = "", rest: str = smallest(), **around: str) -> Frame:
    return Frame(place, at, rest, around)


def machine(at: str = "", without: str = "") -> Frame:
    return frame("machine", at, smallest(without))


AB: Final = {"actions": 'action(a, "x") { }\naction(b, "y") { }\naction(z_stall, "z") { }'}
TRANSITIONS: Final = frame("transitions", **AB)
STALLS: Final = 'action(z_wait, "z") { stall_and_wait(request_in, address); }'
IS: Final = "IS, AccessPermission:Busy"

TYPES: Final = " ".join(f"structure(T{number}) {{ int n; }}" for number in range(51))
OVERLOADS: Final = "\n".join(f"int f(T{number} a) {{ return 1; }}" for number in range(1, 51))

FRAMES: Final[dict[str, Frame]] = {
    # names
    "unknown-type": frame("machine_types"),
    "unknown-variable": frame("statements"),
    "unknown-state": TRANSITIONS,
    "unknown-event": TRANSITIONS,
    "unknown-action": frame("transitions"),
    "unknown-request-type": frame(
        "transitions",
        machine_types="enumeration(RequestType) { TagArrayRead; }",
        functions="void recordRequestType(RequestType t, Addr a) { }\n"
        "bool checkResourceAvailable(RequestType t, Addr a) { return true; }",
        **AB,
    ),
    "unknown-next-state": TRANSITIONS,
    "unknown-port": frame("request"),
    "unknown-buffer": frame("ports"),
    "unknown-field": frame("message"),
    "unknown-method": frame("statements"),
    "unknown-function": frame("statements"),
    "unknown-enum-member": frame("sent"),
    "unknown-machine": machine(),
    "unknown-permission": frame("states"),
    "duplicate-type": frame("machine_types", "bool dirty"),
    "duplicate-machine": machine('"instructions"'),
    "duplicate-variable": frame("statements", "int n := 1"),
    "duplicate-parameter": frame("functions"),
    "duplicate-object": frame("objects", "bool count"),
    "duplicate-field": frame("fields", "bool count"),
    "duplicate-method": frame("machine_types", "int b"),
    "duplicate-function": frame("functions", "int b"),
    "duplicate-state": frame("states", "M, AccessPermission:Busy"),
    "duplicate-event": frame("events", "again"),
    "duplicate-enum-member": frame("types"),
    "reserved-member": frame("types"),
    "duplicate-action": frame("actions", '"t"'),
    "duplicate-short-name": frame("actions", "s_stop"),
    "duplicate-port": frame("ports", "in_port(reply,"),
    "too-many-overloads": frame("functions", "T50 a", OVERLOADS, machine_types=TYPES),
    "not-an-enumeration": frame("statements"),
    "not-a-variable": frame("statements"),
    # types
    "type-mismatch-assignment": frame("message"),
    "type-mismatch-argument": frame("statements"),
    "type-mismatch-condition": frame("statements"),
    "type-mismatch-return": frame("functions"),
    "type-mismatch-operand": frame("message"),
    "type-mismatch-initial": frame("objects"),
    "wrong-argument-count": frame("triggers"),
    "not-assignable": frame("message"),
    "not-a-pointer": frame("statements"),
    "not-a-structure": frame("message"),
    "not-a-message": frame("request"),
    "not-a-port": frame("statements"),
    "not-a-buffer": frame("ports"),
    "invalid-cast": frame("statements"),
    "void-value": frame("statements"),
    "return-outside-function": frame("actions", "return true"),
    "misplaced-statement": frame("actions"),
    "misplaced-expression": frame("functions"),
    "invalid-format": frame("statements"),
    "division-by-zero": frame("statements"),
    "number-out-of-range": frame("statements"),
    "invalid-initializer": frame("objects"),
    # machines
    "duplicate-transition": TRANSITIONS._replace(at="transition(I, Load, IS)"),
    "duplicate-virtual-network": frame("parameters", "* b"),
    "invalid-pair-value": frame("parameters"),
    "missing-pair": frame("parameters"),
    "message-lacks-field": frame(
        "types",
        "Msg, 5)",
        request="enqueue(requestNetwork_out, Msg, 5) { out_msg.addr := address; }",
    ),
    "missing-function": machine(without="setState"),
    "wrong-function-signature": frame("getState"),
    "recursive-function": frame("functions"),
    "recursive-structure": frame("types"),
    "outside-machine": machine(),
    "inside-machine": machine("Directory"),
    "missing-state-declaration": machine(without="states"),
    "missing-event-enumeration": machine(without="events"),
    "invalid-state-declaration": machine("CacheState", without="states")._replace(
        also={"unknown-type"}
    ),
    "multiple-tbe-types": frame("tbe", "(TBE) { DataBlock"),
    "multiple-entry-types": frame("entry", "DirEntry"),
    "wildcard-next-state": TRANSITIONS,
    "unsupported-parameter-type": machine(),
    "unsupported-feature": machine("CacheMemory cache"),
    "rank-out-of-range": frame("ports"),
    "duplicate-rank": frame("ports", "probe_in", actions=STALLS),
    "wrong-direction": frame("ports"),
    "library-type-mismatch": frame("types"),
    "unread-virtual-network": frame(
        "parameters", more_machines=f"machine(MachineType:DMA) : {{ {smallest()} }}"
    ),
    "unconnected-buffer": frame(
        "parameters", more_machines=f"machine(MachineType:DMA) : {{ {smallest()} }}"
    ),
    "message-without-size": frame("request"),
    # warnings
    "unknown-pair-key": frame("parameters"),
    "duplicate-pair-key": frame("actions"),
    "unknown-option": frame("name"),
    "external-call": frame("functions"),
    "external-object": frame("objects", "BloomFilter filter"),
    "controller-in-structure": frame("types", "return makeLineAddress"),
    "unknown-system-setting": frame("fields"),
    "number-for-bool": frame("parameters"),
    "received-message-changed": frame("statements", "in_msg.Acks := 7"),
    "unused-action": frame("actions"),
    "unused-event": frame("events"),
    "unused-state": frame("states"),
    "unused-port": frame("ports"),
    "unused-variable": frame("statements"),
    "unused-function": frame("functions"),
    "unused-object": frame("objects"),
    "unreachable-state": TRANSITIONS._replace(at=IS),
    "dead-end-state": TRANSITIONS._replace(at=IS),
    "unhandled-event": TRANSITIONS._replace(at="    Inv;"),
    "dropped-wakeup": frame("statements", actions=STALLS),
    "float-literal": frame("statements"),
    "ignored-result": frame("statements"),
    "ignored-default": frame("functions"),
    "missing-return": frame("functions"),
    "unreachable-code": frame("functions"),
    "uninitialized-object": frame("objects"),
    "missing-default-state": frame("types"),
    "suspicious-transition": TRANSITIONS,
    "stall-with-body": frame("transitions"),
    "empty-transition": TRANSITIONS,
    "unsafe-dequeue": frame("transitions"),
    "older-dialect": machine(),
}


def compiled(slug: str, text: str, rest: str) -> tuple[tuple[Diagnostic, ...], str]:
    """The findings in the protocol with this text, and the protocol."""
    place, around = FRAMES[slug].place, FRAMES[slug].around
    whole = protocol(**{**around, place: re.sub(r"// ….*", rest, text)})
    return check_source(whole), whole


def line_of(piece: str, whole: str) -> int:
    assert whole.count(piece) == 1, f"{piece!r} is not once in\n{whole}"
    return whole[: whole.index(piece)].count("\n") + 1


def test_the_protocol_around_the_examples_has_no_finding() -> None:
    assert check_source(protocol()) == ()


BACKWARDS: Final = """\
machine(MachineType:L1Cache, "cache")
  : MessageBuffer * tx, network="To", virtual_network="0", vnet_type="request";
    MessageBuffer * rx, network="From", virtual_network="0", vnet_type="request";
{
  transition(I, Load, S) { s_send; p_pop; }
  action(s_send, "s") {
    enqueue(send_out, Msg, 1) { out_msg.Size := next(sent); }
  }
  action(p_pop, "p") { sent := sent + 1; receive_in.dequeue(clockEdge()); }
  in_port(receive_in, Msg, rx) { peek(receive_in, Msg) { trigger(Event:Load, in_msg.addr); } }
  out_port(send_out, Msg, tx);
  State getState(Addr a) { return now; }
  void setState(Addr a, State s) { now := s; }
  AccessPermission getAccessPermission(Addr a) { return AccessPermission:Invalid; }
  void setAccessPermission(Addr a, State s) { }
  void functionalRead(Addr a, Packet *pkt) { }
  int functionalWrite(Addr a, Packet *pkt) { return 0; }
  Length next(int n) { return last; }
  Tick clockEdge();
  Length last;
  State now;
  int sent, default="0";
  enumeration(Event) { Load; }
  state_declaration(State) { I, AccessPermission:Invalid; S, AccessPermission:Read_Only; }
}
structure(Msg, interface="Message") {
  Addr addr; NetDest Destination; MessageSizeType MessageSize; Length Size;
}
structure(Length) { int bytes; }
"""


def test_declarations_may_stand_in_any_order_as_the_pages_say() -> None:
    found = check_source(BACKWARDS)
    assert [one for one in found if one.severity is Severity.ERROR] == []
    backwards = compiled("unknown-variable", "count := 1;\nint count := 0;", "")[0]
    assert "unknown-variable" in {one.slug for one in backwards}


@pytest.mark.parametrize("slug", sampled(FRAMES, 4))
def test_the_example_has_the_finding_and_its_mended_form_has_not(slug: str) -> None:
    code, frame = CODES[slug], FRAMES[slug]
    wrong, whole = compiled(slug, code.example, frame.rest)
    mended, _ = compiled(slug, code.instead, frame.rest)
    assert [found for found in mended if found.severity is Severity.ERROR] == []
    assert {found.slug for found in wrong} - {found.slug for found in mended} == {slug, *frame.also}
    places = {found.primary.span.line for found in wrong if found.slug == slug}
    assert places == {line_of(frame.at or code.example.splitlines()[0], whole)}, whole


# ------------------------------------------------------------------ syntax

SYNTAX_LINES: Final = {"missing-semicolon": 2, "unclosed-bracket": 2, "unterminated-comment": 2}
"""The line of the finding where it is not the first."""


@pytest.mark.parametrize("code", AREAS["syntax"], ids=lambda code: code.slug)
def test_syntax(code: Code) -> None:
    def findings(text: str) -> list[tuple[str, int]]:
        sink = DiagnosticSink()
        parse(SourceFile("page.sm", text), sink)
        return [(found.slug, found.primary.span.line) for found in sink.diagnostics]

    assert findings(code.example) == [(code.slug, SYNTAX_LINES.get(code.slug, 1))]
    assert findings(code.instead) == []


# ------------------------------------------------------------------ files


class Case(NamedTuple):
    """The text of a page and what surrounds it as files, of which ``compile`` is compiled."""

    files: dict[str, str]
    place: str = "Mine.slicc"
    compile: str = "Mine.slicc"
    line: int = 1
    prelude: str = ""


MACHINE: Final = f'machine(MachineType:DMA, "dma") : {{ {smallest()} }}'
MESSAGES: Final = 'enumeration(Kind, default="Kind_Ask") { Ask; }'

FILES: Final = {
    "include-not-found": Case({"MI-message.sm": MACHINE}),
    "include-outside-roots": Case({"common.sm": MACHINE}),
    "include-cycle": Case(
        {"Mine.slicc": f'include "common.sm";\n{MACHINE}'}, place="common.sm", line=2
    ),
    "duplicate-protocol": Case({}, line=2),
    "invalid-protocol-name": Case({}),
    "unreadable-file": Case({"directory/file.sm": MACHINE}),
    "invalid-prelude": Case({"Mine.slicc": MACHINE}, place="mine.sm", prelude="mine.sm"),
    "no-machine": Case({"Mine-msg.sm": MESSAGES, "Mine-cache.sm": MACHINE}),
}


def files_found(case: Case, text: str, folder: Path) -> list[Diagnostic]:
    for name, content in {**case.files, case.place: text}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    sink = DiagnosticSink()
    prelude = [folder / case.prelude] if case.prelude else []
    compile_files([folder / case.compile], [folder], sink, prelude)
    return sink.diagnostics


@pytest.mark.parametrize("slug", FILES)
def test_files(slug: str, tmp_path: Path) -> None:
    case, code = FILES[slug], CODES[slug]
    (wrong,) = files_found(case, code.example, tmp_path)
    assert (wrong.slug, wrong.primary.span.line) == (slug, case.line)
    mended = files_found(case, code.instead, tmp_path)
    assert not [one for one in mended if one.severity is Severity.ERROR or one.slug == slug]


def slugs(folder: Path, name: str = "Mine.slicc", *preludes: Path) -> list[tuple[str, int]]:
    """The errors of a file, and where they are."""
    sink = DiagnosticSink()
    compile_files([folder / name], [folder], sink, preludes)
    found = [one for one in sink.diagnostics if one.severity is Severity.ERROR]
    return [(one.slug, one.primary.span.line) for one in found]


def test_too_many_includes(tmp_path: Path) -> None:
    code = CODES["too-many-includes"]
    for text, expected in ((code.example, ["too-many-includes"]), (code.instead, [])):
        for a, b in pairwise("abcdefghijkl"):
            (tmp_path / f"{a}.sm").write_text(text.replace('b.sm";', f'{b}.sm";'))
        (tmp_path / "l.sm").write_text(MACHINE if not expected else "")
        (tmp_path / "Mine.slicc").write_text('include "a.sm";')
        assert [slug for slug, _ in slugs(tmp_path)] == expected


def test_not_utf8(tmp_path: Path) -> None:
    code = CODES["not-utf8"]
    for text, encoding, expected in (
        (code.example, "latin-1", [("not-utf8", 2)]),
        (code.instead, "utf-8", []),
    ):
        whole = MACHINE.replace("{", f"{{ {text}\n", 1)
        (tmp_path / "Mine.slicc").write_bytes(whole.encode(encoding))
        assert slugs(tmp_path) == expected


def test_file_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slicc.loading.reader.SIZE_LIMIT", 1600)
    code = CODES["file-too-large"]
    for text, expected in ((code.example, [("file-too-large", 1)]), (code.instead, [])):
        for name, size in (("tables.sm", 2000), ("tables-1.sm", 1000), ("tables-2.sm", 1000)):
            (tmp_path / name).write_text("\n" * size)
        (tmp_path / "Mine.slicc").write_text(f"{text}\n{MACHINE}")
        assert slugs(tmp_path) == expected


def test_compiled_alone(tmp_path: Path) -> None:
    code = CODES["compiled-alone"]
    (tmp_path / "Mine-msg.sm").write_text(MESSAGES)
    (tmp_path / "Mine-cache.sm").write_text(MACHINE.replace("{", "{ Kind last;", 1))

    def found(command: str) -> set[str]:
        sink = DiagnosticSink()
        compile_files([tmp_path / command.split()[-1]], [tmp_path], sink)
        return {found.slug for found in sink.diagnostics}

    assert code.slug in found(code.example)
    (tmp_path / "Mine.slicc").write_text('include "Mine-msg.sm"; include "Mine-cache.sm";')
    assert code.slug not in found(code.instead)


def test_unsupported_dialect(tmp_path: Path) -> None:
    code = CODES["unsupported-dialect"]
    text = protocol(parameters="VIPERCoalescer * coalescer;", statements=code.example)
    (tmp_path / "Mine.slicc").write_text(text)
    (tmp_path / "mine.sm").write_text(code.instead)
    assert slugs(tmp_path) == [(code.slug, line_of(code.example, text))]
    assert slugs(tmp_path, "Mine.slicc", tmp_path / "mine.sm") == []


def test_every_page_is_tested() -> None:
    syntax = {code.slug for code in AREAS["syntax"]}
    syntax |= {code.slug for code in AREAS["analysis"]}  # by tests/slicc/analysis/test_pages.py
    own = {name.removeprefix("test_").replace("_", "-") for name in globals()}
    assert CODES.keys() - FRAMES.keys() - FILES.keys() - syntax - own == set()
