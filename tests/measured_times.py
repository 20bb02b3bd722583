"""MI with times that only measure: in a TBE, in a message, in the cache itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from tests.compiling import ROOT

_EDITS: Final = {
    "MI-msg.sm": [('The line (PUTX only)";', " Cycles Sent;")],
    "MI-cache.sm": [
        ('The line, until it is forwarded";', " Cycles Begun;"),
        ('constructor="m_number_of_TBEs";', " Cycles LastBegun; OBJECTS"),
        ("tbe.DataBlk := cache_entry.DataBlk;", " tbe.Begun := curCycle(); STATEMENT"),
        ("MessageSizeType:Writeback_Data;", " out_msg.Sent := tbe.Begun;"),
        ("b_issuePutx;", " t_remember;"),
        ("cache_entry.DataBlk, false", ", MachineType:L1Cache, LastBegun, LastBegun, LastBegun"),
        ("// --- actions: frames and TBEs", "\n action(t_remember) { LastBegun := tbe.Begun; }"),
    ],
}
"""By file: what stands once and what comes behind it."""


def with_times(directory: Path, statement: str = "", objects: str = "") -> Path:
    """The driver of the protocol; ``statement`` stands where a TBE is allocated, ``objects`` are
    declared in the cache."""
    for file in (ROOT / "protocols").glob("MI[-.]*"):
        shutil.copy(file, directory)
    for name, edits in _EDITS.items():
        text = (directory / name).read_text()
        for old, more in edits:
            assert old in text
            more = more.replace("STATEMENT", statement).replace("OBJECTS", objects)
            text = text.replace(old, old + more, 1)
        (directory / name).write_text(text)
    return directory / "MI.slicc"
