"""Descriptions kept for protocols that others wrote: who gets which, and what remains of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import protocols
from protocols.catalog import (
    fit,
    known_files,
    known_states,
    known_system,
    written_system,
)
from protocols.known_defects import may_show
from runtime.controller.shapes import Controller, Parameter, ProtocolInfo, Transition
from runtime.description import DescriptionError, SystemDescription, load_description
from runtime.description.inference import complete
from runtime.types.enumeration import Enumeration
from tests.runtime.description.test_inference import QUEUE, SEQUENCER, into, machine, out

CACHE = machine("L1Cache", SEQUENCER, QUEUE, out("requests"), Parameter("tokens", "int"))
DIRECTORY = machine("Directory", into("requests"), Parameter("late", "bool"))
FACTS = """
[machine.L1Cache.buffer]
requests = { ordered = true }
"""
STATES = """
[Two]
L1Cache = "I S M IS IM SM MI"
Directory = "I S M B"
"""


def protocol(name: str) -> ProtocolInfo:
    return ProtocolInfo(name, (CACHE, DIRECTORY))


def with_states(name: str, cache: str, directory: str) -> ProtocolInfo:
    """The same protocol with these states."""

    def of(kind: type[Controller], states: str) -> type[Controller]:
        members = {state: number for number, state in enumerate(states.split())}
        return type(kind.MACHINE, (kind,), {"STATES": type("State", (Enumeration,), members)})

    return ProtocolInfo(name, (of(CACHE, cache), of(DIRECTORY, directory)))


def test_the_name_proposes(tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    (tmp_path / "Two_Level.toml").write_text("line_size = 128")
    (tmp_path / "Three.toml").write_text("[machine.L9Cache]")

    def found(*names: str) -> SystemDescription:
        return known_system(protocol(names[-1]), names[:-1], tmp_path).description

    nothing = SystemDescription()
    two, level = (SystemDescription.from_toml(text) for text in (FACTS, "line_size = 128"))
    assert found("Two") == two
    assert found("Two_Level") == level
    assert found("Two_Levels_and_more") == level, "the longest name that fits"
    assert found("Two_of_mine") == two
    assert found("file", "Two") == two, "the file may have another name"
    assert found("Two", "anything") == two, "and so may the protocol in it"
    assert found("Another") == nothing
    assert found("Three") == nothing, "it has other machines"
    assert found("Threefold") == nothing


FORK = ("I S M IS IM SM MI IS_I", "I S M B")
HALF = ("I S M IS IM SM MI V X Y Z", "I S M B W")
STRANGE = ("Invalid Here There", "Nobody Somebody")


@pytest.mark.parametrize(
    ("name", "states", "taken", "note"),
    [
        ("Two", FORK, True, ""),
        ("Two_of_mine", FORK, True, ""),
        ("Mine", FORK, True, "Mine is taken for Two, by its machines and their states"),
        ("Two", HALF, True, ""),
        ("Mine", HALF, False, ""),
        (
            "Two",
            STRANGE,
            False,
            "this is not the Two that is known (0% of its states agree): its system is inferred",
        ),
        ("Two_of_mine", STRANGE, False, ""),
        ("Mine", STRANGE, False, ""),
    ],
)
def test_the_states_decide(
    name: str, states: tuple[str, str], taken: bool, note: str, tmp_path: Path
) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    (tmp_path / "states.toml").write_text(STATES)
    found = known_system(with_states(name, *states), [], tmp_path)
    wanted = SystemDescription.from_toml(FACTS) if taken else SystemDescription()
    assert (found.description, found.note) == (wanted, note)


def test_a_few_states_prove_nothing_without_the_name(tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    (tmp_path / "states.toml").write_text("[Two]\nL1Cache = 'I V'\nDirectory = 'I'")
    for name, taken in (("Two", True), ("Mine", False)):
        found = known_system(with_states(name, "I V", "I"), [], tmp_path).description
        assert bool(found.machines) == taken


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            "[machine.L1Cache.buffer]\nrequests = {}\na = {}\nb = {}\nc = {}",
            "it has no L1Cache.a and 2 more that the description names",
        ),
        ("[machine.L9Cache]", "it has no L9Cache"),
        (
            "[machine.L1Cache]\n[machine.Directory]\n"
            "[requester.cpu]\nmachine = 'L1Cache'\nparameter = 'sequencer9'",
            "L1Cache has no sequencer9",
        ),
    ],
)
def test_the_declarations_decide_as_well(facts: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(facts)
    (tmp_path / "states.toml").write_text(STATES)
    found = known_system(with_states("Two", *FORK), [], tmp_path)
    assert found.description == SystemDescription()
    assert found.note == f"this is not the Two that is known ({reason}): its system is inferred"


def test_another_one_may_be_what_the_name_is_not(tmp_path: Path) -> None:
    (tmp_path / "Other.toml").write_text("[machine.L9Cache]")
    (tmp_path / "Two.toml").write_text(FACTS)
    (tmp_path / "states.toml").write_text(STATES)
    found = known_system(with_states("Other", *FORK), [], tmp_path)
    assert found.description == SystemDescription.from_toml(FACTS)
    assert found.note == (
        "this is not the Other that is known (it has no L9Cache); it is taken for Two"
    )


def test_machines_without_agents_are_reported(tmp_path: Path) -> None:
    """A description with agents drives no other machine."""
    (tmp_path / "Two.toml").write_text(FACTS + "[requester.cpu]\nmachine = 'L1Cache'")
    engine = Parameter("engine", "DMASequencer", pointer=True)
    info = ProtocolInfo("Two", (CACHE, DIRECTORY, machine("DMA", engine, QUEUE)))
    note = known_system(info, [], tmp_path).note
    assert note == "nothing drives DMA, which the known Two does not have"
    (tmp_path / "Two.toml").write_text(FACTS)
    assert not known_system(info, [], tmp_path).note, "it is inferred who drives what"


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


@pytest.mark.parametrize(("hint", "ordered"), [(None, True), (True, True), (False, False)])
def test_order_that_a_text_states_is_that_of_the_text(hint: bool | None, ordered: bool) -> None:
    known = SystemDescription.from_toml(FACTS)
    cache = machine("L1Cache", SEQUENCER, QUEUE, out("requests", ordered_hint=hint))
    found = fit(known, ProtocolInfo("Two", (cache, DIRECTORY)))
    assert found.machines["L1Cache"].buffers["requests"].ordered is ordered


def test_what_somebody_wrote_comes_before_what_is_known(tmp_path: Path) -> None:
    facts = tmp_path / "facts"
    facts.mkdir()
    (facts / "Mine.toml").write_text("line_size = 128")
    file, other = tmp_path / "Mine.slicc", tmp_path / "other.toml"
    other.write_text("line_size = 16")

    def line_size(system: Path | None, name: str) -> int:
        found = written_system(file, system, protocol(name), ["Mine"], facts)
        return found.description.line_size

    assert line_size(None, "Mine") == 128
    (tmp_path / "Mine.toml").write_text("line_size = 32")
    assert line_size(None, "Mine") == 32
    assert line_size(other, "Mine") == 16


@pytest.mark.parametrize("name", known_files(protocols.SYSTEMS))
def test_the_files_that_come_along_read_and_name_their_protocol(name: str) -> None:
    described = load_description(known_files(protocols.SYSTEMS)[name])
    assert described.protocol == f"{name}.slicc"
    assert described.machines
    states = known_states(protocols.SYSTEMS)[name]
    assert {machine.of or group for group, machine in described.machines.items()} <= set(states)
    for defect in described.defects:
        assert defect.needs, "else every similar protocol that lacks the same has the defect"
        assert defect.same, "else one with other statements has it as well"
        for cell in (*defect.needs, *defect.lacks):
            machine, state, *_ = cell.split(".")
            assert state in states[machine], cell


def test_complaints_name_the_known_system(tmp_path: Path) -> None:
    (tmp_path / "Two.toml").write_text(FACTS)
    found = known_system(protocol("Two"), [], tmp_path).description
    with pytest.raises(DescriptionError, match=r"^known system Two: .*`tokens` \(int\)"):
        complete(found, protocol("Two"))


class State(Enumeration):
    N = 0
    M = 1
    B = 2


class Event(Enumeration):
    Get = 0
    Put = 1


def wait(controller: Controller, transaction: object) -> None:
    """An action."""


WITH_TABLE = type(
    "Directory",
    (DIRECTORY,),
    {
        "STATES": State,
        "EVENTS": Event,
        "TRANSITIONS": {
            (State.N, Event.Get): Transition(State.M, ()),
            (State.M, Event.Get): Transition(None, (wait,)),
            (State.B, Event.Get): Transition(None, (), stalls=True),
        },
    },
)


@pytest.mark.parametrize(
    ("condition", "there"),
    [
        ("", True),
        ("needs = ['Directory.N.Get']", True),
        ("needs = ['Directory.N.Put']", False),
        ("needs = ['Directory.M.Get.wait', 'Directory.B.Get.z_stall']", True),
        ("needs = ['Directory.N.Get.wait']", False),
        ("needs = ['Directory.M.Get', 'L9Cache.N.Get']", False),
        ("lacks = ['Directory.M.Put']", True),
        ("lacks = ['Directory.M.Get', 'Directory.M.Put']", True),
        ("lacks = ['Directory.M.Get', 'Directory.N.Get']", False),
        ("lacks = ['Directory.M.Put', 'Directory.X.Put']", False),
        ("lacks = ['Directory.M.Write']", False),
        ("needs = ['Directory.N.Get']\nlacks = ['Directory.M.Put']", True),
        ("needs = ['Directory.B.Put']\nlacks = ['Directory.M.Put']", False),
    ],
)
def test_the_table_shows_whether_a_defect_is_there(
    condition: str, there: bool, tmp_path: Path
) -> None:
    text = f"[[defect]]\nwhat = 'it is broken'\n{condition}"
    (tmp_path / "mine.toml").write_text(text)
    info = ProtocolInfo("Mine", (CACHE, WITH_TABLE))
    (defect,) = SystemDescription.from_toml(text).defects
    assert may_show(defect, info) == there
    found = written_system(tmp_path / "x.slicc", tmp_path / "mine.toml", info, (), tmp_path)
    assert bool(found.description.defects) == there


@pytest.mark.parametrize(
    "condition",
    ["needs = ['I.Get']", "lacks = ['a.b.c.d']", "needs = ['a..b']", "needs = ['a.b.c.d.e']"],
)
def test_places_in_tables_have_three_names(condition: str) -> None:
    with pytest.raises(DescriptionError, match=r"expected Machine\.STATE\.EVENT"):
        SystemDescription.from_toml(f"[[defect]]\nwhat = 'it'\n{condition}")


def test_the_text_of_a_defect_is_written_as_it_was_read() -> None:
    text = "[[defect]]\nwhat = 'it'\nneeds = ['A.I.E.act']\nlacks = ['A.I.F']"
    description = SystemDescription.from_toml(text)
    assert SystemDescription.from_toml(description.to_toml()) == description
