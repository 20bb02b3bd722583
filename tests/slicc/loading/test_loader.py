"""Which files belong to a protocol, and which may be read at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slicc.diagnostics.model import DiagnosticSink
from slicc.loading import loader
from slicc.loading.loader import LoadedProtocol, load
from slicc.loading.reader import SIZE_LIMIT, CannotRead
from slicc.syntax import nodes as syntax

PRELUDE = {"RubySlicc_interfaces.slicc", "RubySlicc_Types.sm"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(**files: str) -> None:
    """``a_sm="…"`` writes ``a.sm``; ``d__a_sm`` writes ``d/a.sm``."""
    for key, text in files.items():
        path = Path(key.replace("__", "/").replace("_sm", ".sm").replace("_slicc", ".slicc"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(*paths: str, include: tuple[str, ...] = ()) -> tuple[list[LoadedProtocol], list[str]]:
    sink = DiagnosticSink()
    found = load([Path(path) for path in paths], [Path(path) for path in include], sink, PRELUDE)
    places = [
        f"{one.primary.span.file.name}:{one.primary.span.line}: {one.slug}"
        for one in sink.diagnostics
    ]
    assert all(protocol.complete for protocol in found) == (not places)
    return found, places


def names(declarations: tuple[syntax.Declaration, ...]) -> list[str]:
    """Names of objects in reading order, includes and machines entered."""
    result = []
    for each in declarations:
        if isinstance(each, syntax.Include):
            assert each.body is not None
            result += names(each.body)
        elif isinstance(each, syntax.Machine):
            result += names(each.body)
        elif isinstance(each, syntax.ObjectDeclaration):
            result.append(each.name.text)
    return result


def test_includes_are_spliced_where_they_stand(here: Path) -> None:
    write(
        p_slicc='protocol "P"; include "RubySlicc_interfaces.slicc"; int a; include "m.sm"; int z;',
        m_sm='int b; machine(MachineType:L1Cache) : { int c; include "body.sm"; int e; }',
        body_sm="int d;",
    )
    (protocol,), places = run("p.slicc")
    assert places == []
    assert protocol.name == "P"
    assert names(protocol.declarations) == ["a", "b", "c", "d", "e", "z"]
    assert [source.name for source in protocol.sources] == ["p.slicc", "m.sm", "body.sm"]


def test_library_files_are_never_read(here: Path) -> None:
    write(p_slicc='include "RubySlicc_interfaces.slicc"; int a;', RubySlicc_interfaces_slicc="(")
    Path("RubySlicc_interfaces.slicc").write_text("not even slicc (")
    Path("RubySlicc_Types.sm").write_text("not even slicc (")
    (protocol,), places = run("p.slicc", "RubySlicc_Types.sm")
    assert places == []
    include = protocol.declarations[0]
    assert isinstance(include, syntax.Include) and include.body == ()
    with pytest.raises(CannotRead, match="belongs to the library"):
        run("RubySlicc_Types.sm")


def test_a_part_stands_for_the_drivers_that_use_it(here: Path) -> None:
    write(
        d__b_slicc='protocol "B"; include "part.sm"; // include "other.sm"',
        d__a_slicc='include "mid.sm";',
        d__broken_slicc='include "other.sm" (((',
        d__mid_sm='include "part.sm";',
        d__part_sm="int a;",
        d__other_sm="int o;",
        d__alone_sm="int x;",
    )
    found, places = run("d/part.sm", "d/mid.sm", "d/alone.sm")
    assert places == []
    assert [(one.name, str(one.path)) for one in found] == [
        ("a", "d/a.slicc"),
        ("B", "d/b.slicc"),
        ("alone", "d/alone.sm"),
    ]


def test_shared_files_are_parsed_and_reported_once(here: Path) -> None:
    write(a_slicc='include "s.sm";', b_slicc='include "s.sm";', s_sm="int a")
    found, places = run("a.slicc", "b.slicc")
    assert [one.complete for one in found] == [False, False]
    assert places == ["s.sm:1: missing-semicolon"]


def test_lookup_order(here: Path) -> None:
    write(
        p_slicc='include "sub/m.sm"; include "x.sm"; include "far.sm";',
        sub__m_sm='include "x.sm"; include "top.sm";',
        sub__x_sm="int near;",
        x_sm="int own;",
        top_sm="int top;",
        lib__far_sm="int far;",
    )
    (protocol,), places = run("p.slicc", include=("lib",))
    assert places == []
    assert names(protocol.declarations) == ["near", "top", "own", "far"]


def test_parent_serves_plain_names_only(here: Path) -> None:
    write(
        chi__c_slicc='include "common.sm"; include "../common.sm"; include "../chi/own.sm";',
        chi__own_sm="int own;",
        common_sm='int common; include "more.sm";',
        more_sm="int more;",
    )
    (protocol,), places = run("chi/c.slicc")
    assert names(protocol.declarations) == ["common", "more", "own"]
    assert places == ["chi/c.slicc:1: include-outside-roots"]
    (protocol,), places = run("chi/c.slicc", include=(".",))
    assert places == []


def test_nothing_outside_the_roots_is_read(here: Path) -> None:
    write(secret_sm="int secret;", p__sub__dummy_sm="int d;")
    secret = here / "secret.sm"
    Path("p/link.sm").symlink_to(secret)
    Path("p/up").symlink_to(here)
    text = f'include "../secret.sm";\ninclude "{secret}";\ninclude "link.sm";\n'
    text += 'include "up/secret.sm";\ninclude "sub/../../secret.sm";\ninclude "C:/secret.sm";\n'
    Path("p/q").mkdir()
    Path("p/q/x.slicc").write_text('include "../../secret.sm";\n')
    Path("p/p.slicc").write_text(text)
    (protocol,), places = run("p/p.slicc")
    assert names(protocol.declarations) == []
    assert places == [f"p/p.slicc:{line}: include-outside-roots" for line in range(1, 7)]
    assert run("p/q/x.slicc")[1] == ["p/q/x.slicc:1: include-outside-roots"]


def test_cycles(here: Path) -> None:
    write(p_slicc='include "a.sm";', a_sm='int a;\ninclude "b.sm";', b_sm='include "a.sm";')
    assert run("p.slicc")[1] == ["b.sm:1: include-cycle"]
    write(self_sm='include "self.sm";')
    assert run("self.sm")[1] == ["self.sm:1: include-cycle"]


def test_includes_are_bounded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):
        Path(f"f{number}.sm").write_text(f'include "f{number + 1}.sm"; include "f{number + 1}.sm";')
    Path("f40.sm").write_text("int a;")
    places = run("f0.sm")[1]
    assert places
    assert {place.split(": ")[1] for place in places} == {"too-many-includes"}


def test_missing_files(here: Path) -> None:
    write(p_slicc='include "MI-mesage.sm"; include ""; include "x\0.sm";')
    write(**{"MI-message_sm": "int a;"})
    Path("directory.sm").mkdir()
    Path("p.slicc").write_text('include "MI-mesage.sm";\ninclude "";\ninclude "directory.sm";\n')
    sink = DiagnosticSink()
    load([Path("p.slicc")], [], sink, PRELUDE)
    assert [found.slug for found in sink.diagnostics] == [
        "include-not-found",
        "include-not-found",
        "unreadable-file",
    ]
    assert sink.diagnostics[0].help == "did you mean `MI-message.sm`?"


def test_protocol_names(here: Path) -> None:
    write(
        two_slicc='protocol "A";\ninclude "m.sm";',
        m_sm='protocol "B";',
        evil_slicc='protocol "../../x";',
    )
    found, places = run("two.slicc")
    assert (found[0].name, places) == ("A", ["m.sm:1: duplicate-protocol"])
    found, places = run("evil.slicc")
    assert (found[0].name, places) == ("evil", ["evil.slicc:1: invalid-protocol-name"])
    Path("9 lives.sm").write_text("int a;")
    assert run("9 lives.sm")[0][0].name == "_9_lives"


def test_contents_that_are_no_text(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("latin.sm").write_bytes(b"// fine\n// \xe9\nint a;")
    assert run("latin.sm")[1] == ["latin.sm:2: not-utf8"]
    with Path("huge.sm").open("wb") as stream:
        stream.truncate(SIZE_LIMIT + 1)
    assert run("huge.sm")[1] == ["huge.sm:1: file-too-large"]


def test_what_the_user_names_must_be_there(here: Path) -> None:
    with pytest.raises(CannotRead, match=r"none\.sm: No such file"):
        run("none.sm")
    Path("dir.sm").mkdir()
    with pytest.raises(CannotRead, match=r"dir\.sm/\*\.sm"):
        run("dir.sm")
    os.mkfifo("pipe.sm")
    with pytest.raises(CannotRead, match="not a regular file"):
        run("pipe.sm")
    Path("loop.sm").symlink_to("loop.sm")
    with pytest.raises(CannotRead, match=r"loop\.sm"):
        run("loop.sm")


def test_named_files_may_be_links(here: Path) -> None:
    write(real__p_slicc='include "part.sm";', real__part_sm="int a;", view__x_sm="int x;")
    Path("view/p.slicc").symlink_to(here / "real" / "p.slicc")
    Path("view/part.sm").symlink_to(here / "real" / "part.sm")
    (protocol,), places = run("view/p.slicc")
    assert (names(protocol.declarations), places) == (["a"], [])


def test_limits_are_what_the_page_says() -> None:
    from slicc.diagnostics.registry import CODES

    page = CODES["too-many-includes"].page
    assert f"{loader.DEPTH_LIMIT} deep" in page
    assert f"{loader.SPLICE_LIMIT} files" in page
