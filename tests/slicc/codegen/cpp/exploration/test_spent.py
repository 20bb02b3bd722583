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


def spent(driver: Path) -> dict[str, tuple[tuple[str, int], ...]]:
    """What events of spent messages count."""
    return {
        found.event: found.counts
        for machine in compile_protocol(driver).protocol.machines
        for found in spent_messages(machine)
    }


def changed(directory: Path, *edits: tuple[str, str]) -> Path:
    """The bus protocol with other texts of its memory."""
    for file in SNOOP.parent.glob("MSI_Snoop*"):
        shutil.copy(file, directory)
    memory = directory / "MSI_Snoop-mem.sm"
    text = memory.read_text()
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    memory.write_text(text)
    return directory / SNOOP.name


def test_acknowledgements_of_memory_that_change_nothing() -> None:
    assert spent(SNOOP) == {"MemAck": ()}
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
    assert spent(changed(tmp_path, (old, new))) == {}


def test_a_state_that_is_named_nowhere_reacts_to_nothing(tmp_path: Path) -> None:
    unused = ("    IorS_D, Access", "    Never, AccessPermission:Invalid; IorS_D, Access")
    assert spent(changed(tmp_path, unused)) == {"MemAck": ()}


WRITTEN = "action(wc_written) { assert(written < 9); written := written - 2; } "
COUNTED = (
    ("  structure(Entry,", '  int written, default="0";\n  structure(Entry,'),
    ("action(qr_popRequest", WRITTEN + "action(qr_popRequest"),
    (ACK, ACK + " wc_written;"),
    (
        "    peek(data_in, DataMsg) {\n      enqueue(",
        "    written := written + 1;\n    peek(data_in, DataMsg) {\n      enqueue(",
    ),
)
"""Writes are counted until memory acknowledges them."""


def test_a_message_may_count_when_it_is_sent(tmp_path: Path) -> None:
    assert spent(changed(tmp_path, *COUNTED)) == {"MemAck": (("written", -2),)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    dequeueMemRespQueue();", "    dequeueMemRespQueue(); assert(written < 9);"),
        ("    data_in.dequeue(clockEdge());", "    data_in.dequeue(clockEdge()); written := 0;"),
        ("  State getState(Addr addr) {", "  State getState(Addr addr) { assert(written < 9);"),
    ],
    ids=["asserted by another event", "set", "asserted by a function"],
)
def test_a_count_that_is_read_waits_for_the_message(tmp_path: Path, old: str, new: str) -> None:
    assert spent(changed(tmp_path, *COUNTED, (old, new))) == {}
