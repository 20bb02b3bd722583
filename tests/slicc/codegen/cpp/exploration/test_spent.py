"""Which messages count as spent: only those that no state reacts to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slicc.codegen.cpp.exploration.spent import spent_messages
from slicc.compiler import compile as compile_protocol
from tests.compiling import ROOT

SNOOP = ROOT / "protocols" / "MSI_Snoop.slicc"
ACK = "transition({IorS, M, IorS_D}, MemAck) {"


def spent(driver: Path) -> dict[str, tuple[str, ...]]:
    return {
        f"{machine.name}.{found.port.ref.name}": found.events
        for machine in compile_protocol(driver).protocol.machines
        for found in spent_messages(machine)
    }


def changed(directory: Path, old: str, new: str) -> Path:
    """The bus protocol with another text of its memory."""
    for file in SNOOP.parent.glob("MSI_Snoop*"):
        shutil.copy(file, directory)
    memory = directory / "MSI_Snoop-mem.sm"
    text = memory.read_text()
    assert text.count(old) == 1
    memory.write_text(text.replace(old, new))
    return directory / SNOOP.name


def test_acknowledgements_of_memory_that_change_nothing() -> None:
    assert list(spent(SNOOP).values()) == [("MemAck",)]
    assert spent(SNOOP.with_name("MSI.slicc")) == {}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ACK, "transition({IorS, M}, MemAck) {"),
        (ACK, "transition({IorS, M, IorS_D}, MemAck, IorS) {"),
        (ACK, ACK + " kw_wakeWaiting;"),
    ],
    ids=["a state without it", "a change of state", "a second action"],
)
def test_what_a_state_reacts_to_is_delivered(tmp_path: Path, old: str, new: str) -> None:
    assert spent(changed(tmp_path, old, new)) == {}
