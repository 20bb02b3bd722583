"""What programs get from the compiler: values to ask, errors with diagnostics, edited copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from protocols import DIRECTORY
from slicc import ir
from slicc.compiled import CompileError, InvalidEdit
from slicc.compiler import check_source, compile, compile_source
from slicc.loading.reader import CannotRead


def test_a_machine_says_what_it_consists_of() -> None:
    cache = compile(DIRECTORY / "MI.slicc").machine("L1Cache")
    assert cache.states[0] == "I"
    assert "Fwd_GETX" in cache.events
    assert cache.table["M", "Fwd_GETX"].next.state == "I"
    assert cache.table["M", "Fwd_GETX"].actions[0].name in cache.actions
    assert ("M", "I", "Fwd_GETX") in cache.graph.edges(keys=True)
    assert ("I", "Fwd_GETX") not in cache.table


def test_an_error_has_its_diagnostics_and_prints_them(tmp_path: Path) -> None:
    path = tmp_path / "bad.sm"
    path.write_text("enumeration(Kind) { A; A; }")
    with pytest.raises(CompileError) as raised:
        compile(path)
    assert raised.value.diagnostics[0].slug == "duplicate-enum-member"
    assert "error[duplicate-enum-member]" in str(raised.value)
    assert str(raised.value).endswith(f"{path}: 1 error")


def test_a_file_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(CannotRead, match=r"gone\.slicc"):
        compile(tmp_path / "gone.slicc")


def test_a_file_of_two_protocols_has_to_be_named_better(tmp_path: Path) -> None:
    (tmp_path / "both.sm").write_text("enumeration(Kind) { A; }")
    for name in ("one", "two"):
        (tmp_path / f"{name}.slicc").write_text(f'protocol "{name}"; include "both.sm";')
    with pytest.raises(CannotRead, match="belongs to several protocols"):
        compile(tmp_path / "both.sm")


def test_a_string_may_be_a_file_with_another_one_spliced_in() -> None:
    driver, cache = ((DIRECTORY / name).read_text() for name in ("MI.slicc", "MI-cache.sm"))
    include = 'include "MI-cache.sm";'
    assert include in driver
    text = compile_source(driver.replace(include, cache), "Other", include=[DIRECTORY])
    assert text.name == "MI", "the text names it"
    assert text.machines == compile(DIRECTORY / "MI.slicc").machines


def test_a_string_may_include_files_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "kinds.sm").write_text("enumeration(Kind) { A; }")
    found = compile_source('include "kinds.sm";', "Kinds", include=[tmp_path])
    assert found.name == "Kinds"
    assert [found.slug for found in found.diagnostics] == ["no-machine"]
    assert [found.slug for found in check_source('include "kinds.sm";')] == ["include-not-found"]


def test_an_edited_machine_takes_the_place_of_the_old_one() -> None:
    compiled = compile(DIRECTORY / "MI.slicc")
    machine = compiled.machine("L1Cache").ir
    number = machine.transitions.index(compiled.machine("L1Cache").table["M", "Fwd_GETX"])
    kept = replace(machine.transitions[number], next=ir.NextState(ir.NextKind.STAY))
    rows = (*machine.transitions[:number], kept, *machine.transitions[number + 1 :])
    edited = compiled.with_machine(replace(machine, transitions=rows))
    assert edited.machine("L1Cache").table["M", "Fwd_GETX"] == kept
    assert compiled.machine("L1Cache").table["M", "Fwd_GETX"] != kept
    assert edited.sources != compiled.sources


def test_an_edit_that_does_not_fit_is_refused() -> None:
    compiled = compile(DIRECTORY / "MI.slicc")
    machine = compiled.machine("L1Cache").ir
    with pytest.raises(InvalidEdit, match="L1Cache"):
        compiled.with_machine(replace(machine, actions=()))
    with pytest.raises(KeyError):
        compiled.with_machine(replace(machine, name="L2Cache"))


def test_one_path_stands_for_several(tmp_path: Path) -> None:
    """As a string it would be as many as it has letters, none of which is there."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "types.sm").write_text("enumeration(Kind) { A; }")
    driver = tmp_path / "P.slicc"
    driver.write_text('protocol "P"; include "types.sm";')
    there = tmp_path / "there"
    for include in (str(there), there, [there]):
        assert compile(driver, include=include).name == "P"
