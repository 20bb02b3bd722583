"""A protocol to be built: found by name, by path, or compiled before."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import ProtocolBroken, ProtocolMissing, load
from slicc import ir
from slicc.compiler import compile, compile_source


def test_a_name_and_what_it_compiles_to_are_one_protocol() -> None:
    by_name, compiled = load("MI"), load(compile(DIRECTORY / "MI.slicc"))
    assert by_name.identity == compiled.identity
    assert by_name.identity.path == ""
    assert by_name.description == compiled.description
    assert load(by_name) is by_name


def test_what_was_loaded_runs_on_either_engine() -> None:
    by_name, compiled = load("MI"), load(compile(DIRECTORY / "MI.slicc"))
    assert by_name.native is not None and by_name.native == compiled.native
    assert load(compile(DIRECTORY / "MI.slicc"), native=False).native is None


def test_a_compiled_file_of_the_user_is_known_by_its_path(tmp_path: Path) -> None:
    for file in DIRECTORY.glob("MI*"):
        shutil.copy(file, tmp_path)
    path = tmp_path / "MI.slicc"
    assert load(compile(path)).identity == load(path).identity
    assert load(path).identity.path == str(path.resolve())


def test_an_edited_protocol_is_another_one_in_the_same_system() -> None:
    compiled = compile(DIRECTORY / "MI.slicc")
    machine = compiled.machine("L1Cache").ir
    number = machine.transitions.index(compiled.machine("L1Cache").table["M", "Fwd_GETX"])
    kept = replace(machine.transitions[number], next=ir.NextState(ir.NextKind.STAY))
    rows = (*machine.transitions[:number], kept, *machine.transitions[number + 1 :])
    edited = load(compiled.with_machine(replace(machine, transitions=rows)))
    original = load(compiled)
    assert edited.identity.digest != original.identity.digest
    assert edited.description == original.description
    cache, event = edited.info.machine("L1Cache"), original.info.machine("L1Cache").EVENTS
    state = cache.STATES.value_of("M")
    assert cache.TRANSITIONS[state, event.value_of("Fwd_GETX")].next is None


def test_what_is_wrong_is_one_of_two_errors(tmp_path: Path) -> None:
    broken = tmp_path / "broken.sm"
    broken.write_text("machine(")
    with pytest.raises(ProtocolBroken, match=r"1 error; nothing to test"):
        load(broken)
    with pytest.raises(ProtocolMissing, match="did you mean MSI"):
        load("MSJ")
    with pytest.raises(ProtocolMissing, match="declares no machine"):
        load(compile_source("enumeration(Kind) { A; }"))


def test_one_text_has_one_digest_however_its_paths_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written in full, the prelude comes before the protocol's files in the order of paths."""
    here, there = tmp_path / "a", tmp_path / "b"
    here.mkdir()
    there.mkdir()
    for file in DIRECTORY.glob("MI*"):
        shutil.copy(file, there)
    prelude = here / "own.sm"
    prelude.write_text("int twice(int n) { return n + n; }\n")
    monkeypatch.chdir(here)
    digests = {
        load(path, preludes=[own]).identity.digest
        for path in (there / "MI.slicc", "../b/MI.slicc")
        for own in (prelude, prelude.name)
    }
    assert len(digests) == 1
