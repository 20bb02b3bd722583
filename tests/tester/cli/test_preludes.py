"""``gpu-tester --prelude FILE``: a protocol that leans on a library of its author's."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from protocols.compile_cache import _key
from tester.cli.main import app
from tests.compiling import compiler
from tests.sampling import sampled

SHIPPED = Path(__file__).parents[3] / "protocols"
HOME = "MachineID homeOf(Addr address) { return mapAddressToMachine(address, MachineType:%s); }\n"


@pytest.fixture
def protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MI, whose cache calls a function that is not declared here; replay files stay beside it."""
    monkeypatch.chdir(tmp_path)
    for path in SHIPPED.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    cache = tmp_path / "MI-cache.sm"
    written = "mapAddressToMachine(address, MachineType:Directory)"
    text = cache.read_text(encoding="utf-8")
    assert written in text
    cache.write_text(text.replace(written, "homeOf(address)"), encoding="utf-8")
    return tmp_path / "MI.slicc"


def _run(protocol: Path, *words: str, engine: str = "python") -> Result:
    return _run_and_shrink(protocol, "--no-shrink", *words, engine=engine)


def _run_and_shrink(protocol: Path, *words: str, engine: str = "python") -> Result:
    fixed = ("--episodes", "20", "--seed", "3", "--engine", engine)
    return CliRunner().invoke(app, ["--protocol", str(protocol), *fixed, *words])


def test_without_the_prelude_it_does_not_compile(protocol: Path) -> None:
    done = _run(protocol)
    assert done.exit_code != 0
    assert "no function named `homeOf`" in done.output


@pytest.mark.parametrize("engine", sampled(["python", "native"], 2))
def test_with_the_prelude_it_runs(protocol: Path, engine: str) -> None:
    if engine == "native":
        compiler()  # skips where there is none
    prelude = protocol.with_name("own.sm")
    prelude.write_text(HOME % "Directory", encoding="utf-8")
    done = _run(protocol, "--prelude", str(prelude), engine=engine)
    assert done.exit_code == 0, done.output


def test_a_function_without_a_body_is_a_verdict(protocol: Path) -> None:
    prelude = protocol.with_name("own.sm")
    prelude.write_text("MachineID homeOf(Addr address);\n", encoding="utf-8")
    done = _run(protocol, "--prelude", str(prelude))
    assert done.exit_code == 1
    assert "`homeOf` is external" in done.output
    assert "own.sm:1 declares it without a body" in done.output


def test_no_transition_is_to_blame_for_a_function_without_a_body(protocol: Path) -> None:
    """The least leg has neighbours that pass: those that make no call."""
    prelude = protocol.with_name("own.sm")
    prelude.write_text("MachineID homeOf(Addr address);\n", encoding="utf-8")
    done = _run_and_shrink(protocol, "--prelude", str(prelude))
    assert "the least that fails in this way" in done.output
    assert "suspect" not in done.output
    assert re.search(r"likely cause\n  .* in a prelude", done.output)


def test_a_prelude_that_is_not_there(protocol: Path) -> None:
    done = _run(protocol, "--prelude", "missing.sm")
    assert done.exit_code == 2
    assert "cannot read the prelude missing.sm" in done.output


def test_what_is_kept_between_runs_is_told_apart_by_the_prelude(protocol: Path) -> None:
    one, other = protocol.with_name("one.sm"), protocol.with_name("other.sm")
    one.write_text(HOME % "Directory", encoding="utf-8")
    other.write_text(HOME % "DMA", encoding="utf-8")
    keys = {_key(protocol, (), preludes) for preludes in ((), (one,), (other,), (one, other))}
    assert None not in keys
    assert len(keys) == 4
