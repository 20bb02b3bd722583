"""Descriptions kept for protocols that others wrote: who gets which, and what remains of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import protocols
from runtime.completion import complete
from runtime.controller import Parameter, ProtocolInfo
from runtime.description import DescriptionError, SystemDescription, load_description
from runtime.known_systems import fit, known_system, written_system
from tests.runtime.test_inference import QUEUE, SEQUENCER, into, machine, out

CACHE = machine("L1Cache", SEQUENCER, QUEUE, out("requests"), Parameter("tokens", "int"))
DIRECTORY = machine("Directory", into("requests"), Parameter("late", "bool"))
FACTS = """
[machine.L1Cache.buffer]
requests = { ordered = true }
"""


def protocol(name: str) -> ProtocolInfo:
    return ProtocolInfo(name, (CACHE, DIRECTORY))


def test_the_name_decides(tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    (tmp_path / "Two_Level.toml").write_text("line_size = 128")
    (tmp_path / "Three.toml").write_text("[machine.L9Cache]")

    def found(*names: str) -> SystemDescription | None:
        return known_system(protocol(names[-1]), names[:-1], tmp_path)

    two, level = (SystemDescription.from_toml(text) for text in (FACTS, "line_size = 128"))
    assert found("Two") == two
    assert found("Two_Level") == level
    assert found("Two_Levels_and_more") == level, "the longest name that fits"
    assert found("Two_of_mine") == two
    assert found("file", "Two") == two, "the file may have another name"
    assert found("Two", "anything") == two, "and so may the protocol in it"
    assert found("Another") is None
    assert found("Three") == SystemDescription()
    assert found("Threefold") is None, "a variant still has all machines"


def test_only_what_the_protocol_declares_is_kept() -> None:
    known = SystemDescription.from_toml("""
        protocol = "Old.slicc"
        [machine.L9Cache]
        count = 2
        [machine.L1Cache.parameters]
        number_of_TBEs = 4
        gone = 1
        [machine.L1Cache.derived]
        tokens = { count = "L9Cache" }
        gone = { count = "L1Cache" }
        [machine.L1Cache.cache.gone]
        sets = 1
        [machine.L1Cache.buffer]
        requests = { ordered = true, joined = "L9Cache.x" }
        gone = { ordered = true }
        [requester.cpu]
        machine = "L1Cache"
        invalidates = "nobody"
        caches = ["gone"]
        [requester.cpu2]
        machine = "L1Cache"
        parameter = "sequencer9"
        [requester.gone]
        machine = "L9Cache"
        [agents.cpu]
        requester = "cpu"
        [agents.gone]
        requester = "gone"
        [[handover]]
        giver = "cpu"
        taker = "gone"
        [[handover]]
        giver = "cpu"
        taker = "cpu"
    """)
    assert fit(known, protocol("Old")) == SystemDescription.from_toml("""
        [machine.L1Cache.parameters]
        number_of_TBEs = 4
        [machine.L1Cache.buffer]
        requests = { ordered = true }
        [requester.cpu]
        machine = "L1Cache"
        caches = []
        [agents.cpu]
        requester = "cpu"
        [[handover]]
        giver = "cpu"
        taker = "cpu"
    """)


def test_what_somebody_wrote_comes_before_what_is_known(tmp_path: Path) -> None:
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "Mine.toml").write_text("line_size = 128")
    file, other = tmp_path / "Mine.slicc", tmp_path / "other.toml"
    other.write_text("line_size = 16")

    def line_size(system: Path | None, name: str) -> int:
        return written_system(file, system, protocol(name), ["Mine"], facts).line_size

    assert line_size(None, "Mine") == 128
    (tmp_path / "Mine.toml").write_text("line_size = 32")
    assert line_size(None, "Mine") == 32
    assert line_size(other, "Mine") == 16


@pytest.mark.parametrize("path", sorted(protocols.SYSTEMS.glob("*.toml")), ids=lambda p: p.stem)
def test_the_files_that_come_along_read_and_name_their_protocol(path: Path) -> None:
    described = load_description(path)
    assert described.protocol == f"{path.stem}.slicc"
    assert described.machines


def test_complaints_name_the_known_system(tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    found = known_system(protocol("Two"), [], tmp_path)
    assert found is not None
    with pytest.raises(DescriptionError, match=r"^known system Two: .*`tokens` \(int\)"):
        complete(found, protocol("Two"))
