"""The compiler as a whole: files and texts in, protocols or findings out, never a crash."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from slicc.compiler import compile_files, compile_text
from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.registry import CODES
from slicc.ir.verifier import verify

IR = Path(__file__).parent / "ir_cases"


def test_text_without_machine_is_told_so() -> None:
    sink = DiagnosticSink()
    assert compile_text("enumeration(Kind) { A; }", sink) is not None
    assert [d.slug for d in sink.diagnostics] == ["no-machine"]


def test_a_lone_file_says_what_it_misses(tmp_path: Path) -> None:
    text = (IR / "needs.sm").read_text()
    alone = tmp_path / "alone.sm"
    alone.write_text(text[text.index("machine(") :])
    sink = DiagnosticSink()
    assert compile_files([alone], [], sink) == []
    slugs = [d.slug for d in sink.diagnostics]
    assert "unknown-type" in slugs
    assert slugs[-1] == "compiled-alone"
    assert "alone.sm" in sink.diagnostics[-1].headline


def test_a_driver_joins_its_files(tmp_path: Path) -> None:
    text = (IR / "needs.sm").read_text()
    cut = text.index("machine(")
    (tmp_path / "types.sm").write_text(text[:cut])
    (tmp_path / "machine.sm").write_text(text[cut:])
    driver = tmp_path / "Joined.slicc"
    driver.write_text('protocol "Joined";\ninclude "types.sm";\ninclude "machine.sm";\n')
    sink = DiagnosticSink()
    (compiled,) = compile_files([driver], [], sink)
    assert sink.diagnostics == []
    assert compiled.protocol.name == "Joined"
    assert verify(compiled.protocol) == []


def test_errors_keep_the_protocol_back() -> None:
    sink = DiagnosticSink()
    assert compile_text("structure(S) { Nope n; }", sink) is None
    assert [d.slug for d in sink.diagnostics] == ["unknown-type"]


def _mistakes(text: str, rng: random.Random) -> str:
    """The text with one to three words swapped, doubled, dropped or replaced by others."""
    words = re.split(r"(\W+)", text)
    places = [i for i, word in enumerate(words) if word.isidentifier()]
    for _ in range(rng.randint(1, 3)):
        at, other = rng.choice(places), rng.choice(places)
        match rng.randrange(4):
            case 0:
                words[at], words[other] = words[other], words[at]
            case 1:
                words[at] = words[other]
            case 2:
                words[at] += "x"
            case _:
                words[at] = str(rng.randrange(10))
    return "".join(words)


@pytest.mark.parametrize("name", ["copying", "needs"])
def test_mistakes_are_reported_and_never_crash(name: str) -> None:
    text = re.sub(r"//.*", "", (IR / f"{name}.sm").read_text())
    rng = random.Random(name)
    rejected = 0
    for number in range(30):
        mutated = _mistakes(text, rng)
        sink = DiagnosticSink()
        protocol = compile_text(mutated, sink, name=f"mistake{number}")
        assert {d.slug for d in sink.diagnostics} <= CODES.keys(), mutated
        if protocol is None:
            assert sink.error_count, mutated
            rejected += 1
        else:
            assert verify(protocol) == [], mutated
    assert rejected > 15
