"""What the compiler promises to protocols is what the runtime has."""

from __future__ import annotations

import pytest

from runtime.controller.shapes import Controller
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory, PerfectCacheMemory
from runtime.structures.chi_tables import ExpectedMap, TBEStorage, TriggerQueue
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.persistent_table import PersistentTable
from runtime.structures.tbe_table import TBETable, TimerTable
from runtime.types import enumerations, messages
from runtime.types.messages import MemoryMsg, RubyRequest, SequencerMsg
from runtime.types.values import BoolVec, DataBlock, MachineID, NetDest, Set, WriteMask
from slicc.prelude import CLASSES, ENUMERATIONS, FUNCTIONS, STRUCTURES, Home, parse_signature

OFFERED = {
    kind.__name__: kind
    for kind in (
        AbstractCacheEntry,
        BoolVec,
        CacheMemory,
        DataBlock,
        DirectoryMemory,
        ExpectedMap,
        MachineID,
        MessageBuffer,
        NetDest,
        PerfectCacheMemory,
        PersistentTable,
        Set,
        TBEStorage,
        TBETable,
        TimerTable,
        TriggerQueue,
        WriteMask,
    )
}
WITHOUT_PACKETS = {"htmCmdToRubyRequestType", "tlbiCmdToRubyRequestType"}
"""Functions on packets of a CPU simulator, which this runtime has not."""


@pytest.mark.parametrize("name", sorted(OFFERED))
def test_classes_have_the_methods_that_the_compiler_calls(name: str) -> None:
    missing = []
    for line in CLASSES[name].methods:
        signature = parse_signature(line)
        if signature.name == "emplace":
            continue  # The compiler makes it a push of a value.
        known = vars(OFFERED[name])
        if signature.python not in known and not hasattr(OFFERED[name], signature.python):
            missing.append(line)
        if signature.setter is not None and signature.setter not in known:
            missing.append(line)
    assert missing == []


@pytest.mark.parametrize("name", sorted(ENUMERATIONS))
def test_enumerations_have_the_same_members_in_the_same_order(name: str) -> None:
    assert getattr(enumerations, name).members() == ENUMERATIONS[name].names()


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_are_where_the_compiler_looks_for_them(name: str) -> None:
    row = FUNCTIONS[name]
    for line in row.lines:
        signature = parse_signature(line)
        if signature.python in WITHOUT_PACKETS:
            continue
        home = Controller if row.home is Home.CONTROLLER else messages
        assert hasattr(home, signature.python), line


@pytest.mark.parametrize("kind", [RubyRequest, SequencerMsg, MemoryMsg])
def test_library_messages_have_the_declared_fields(kind: type) -> None:
    row = STRUCTURES[kind.__name__]
    fields = [line.split("=")[0].split()[-1] for line in row.fields]
    assert [field for field in fields if not hasattr(kind, field)] == []
    methods = [parse_signature(line).python for line in row.methods]
    assert [method for method in methods if not hasattr(kind, method)] == []
