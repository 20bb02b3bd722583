"""What is found out about systems without a description, and what has to be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.controller.shapes import BufferParameter, Controller, Parameter, ProtocolInfo
from runtime.description import DescriptionError, SystemDescription
from runtime.description.inference import complete
from runtime.description.origin import MissingParameters


def machine(name: str, *parameters: Parameter | BufferParameter) -> type[Controller]:
    """A machine that declares, and does nothing."""
    from runtime.types.messages import MachineType

    kind = getattr(MachineType, name)
    body = {"MACHINE": name, "MACHINE_TYPE": kind, "PARAMETERS": parameters}
    return type(name, (Controller,), body)


def out(name: str, **more: Any) -> BufferParameter:
    return BufferParameter(name, direction="To", **more)


def into(name: str, **more: Any) -> BufferParameter:
    return BufferParameter(name, direction="From", **more)


def completed(text: str, *machines: type[Controller]) -> SystemDescription:
    given = SystemDescription.from_toml(text, "x.toml")
    result = complete(given, ProtocolInfo("made up", machines))
    assert complete(result, ProtocolInfo("made up", machines)) == result
    return result


SEQUENCER = Parameter("sequencer", "Sequencer", pointer=True)
QUEUE = BufferParameter("mandatoryQueue")


def test_a_misspelt_machine_of_an_option_names_the_option() -> None:
    """It named the line of another machine in the file."""
    given = SystemDescription.from_toml("[machine.L0Cache]\ncount = 2", "x.toml")
    given = given.override({"machine.L0cache.count": 3})
    with pytest.raises(DescriptionError) as caught:
        complete(given, ProtocolInfo("made up", (machine("L0Cache"),)))
    words = (
        "--set machine.L0cache.count=3: machine.L0cache: no such machine; did you mean `L0Cache`?"
    )
    assert str(caught.value) == words


def test_links_between_two_machines_are_found_by_name() -> None:
    upper = machine("L0Cache", SEQUENCER, QUEUE, out("bufferToL1"), into("bufferFromL1"))
    lower = machine("L1Cache", into("bufferFromL0"), out("bufferToL0"))
    done = completed("", upper, lower)
    assert done.machines["L0Cache"].buffers["bufferToL1"].joined == "L1Cache.bufferFromL0"
    assert done.machines["L1Cache"].buffers["bufferToL0"].joined == "L0Cache.bufferFromL1"
    ends = (("L0Cache", "bufferToL1"), ("L1Cache", "bufferFromL0"))
    assert all(done.machines[name].buffers[buffer].ordered for name, buffer in ends)
    assert [done.machines[name].count for name in ("L0Cache", "L1Cache")] == [4, 4]
    assert not done.machines["L1Cache"].interleaved


def test_names_decide_where_ends_alone_would_not() -> None:
    """Two links leave the L0; only the names tell which goes where."""
    upper = machine("L0Cache", out("dataToL1"), out("requestToL1"), out("requestToDirectory"))
    lower = machine("L1Cache", into("requestFromL0"), into("dataFromL0"))
    directory = machine("Directory", into("requestFromL0Cache"))
    buffers = completed("", upper, lower, directory).machines["L0Cache"].buffers
    assert {name: buffer.joined for name, buffer in buffers.items()} == {
        "dataToL1": "L1Cache.dataFromL0",
        "requestToL1": "L1Cache.requestFromL0",
        "requestToDirectory": "Directory.requestFromL0Cache",
    }


def test_a_single_pair_of_ends_belongs_together_whatever_its_names() -> None:
    buffers = completed("", machine("L0Cache", out("down")), machine("L1Cache", into("above")))
    assert buffers.machines["L0Cache"].buffers["down"].joined == "L1Cache.above"


def test_a_declared_disorder_is_kept() -> None:
    upper = machine("L0Cache", out("down", ordered_hint=False))
    done = completed("", upper, machine("L1Cache", into("above")))
    assert not done.machines["L0Cache"].buffers["down"].ordered


def test_what_is_said_of_a_link_stands() -> None:
    text = "[machine.L0Cache.buffer]\ndown = { ordered = false, joined = 'L1Cache.left' }"
    upper = machine("L0Cache", out("down"), out("side"))
    done = completed(text, upper, machine("L1Cache", into("left"), into("right")))
    buffers = done.machines["L0Cache"].buffers
    assert (buffers["down"].joined, buffers["down"].ordered) == ("L1Cache.left", False)
    assert buffers["side"].joined == "L1Cache.right"


def test_ambiguous_links_are_asked_for_together() -> None:
    upper = machine("L0Cache", out("down"), out("side"))
    lower = machine("L1Cache", into("left"), into("right"))
    with pytest.raises(DescriptionError) as caught:
        completed("", upper, lower)
    words = "L0Cache.buffer.down: has no virtual network (so have L0Cache.side, L1Cache.left, L1C"
    assert words in str(caught.value)


def test_machines_that_are_left_out_have_no_loose_ends() -> None:
    text = "[machine.L1Cache]\ncount = 0"
    done = completed(
        text,
        machine("L0Cache", out("down")),
        machine("L1Cache", into("above"), Parameter("size", "int")),
        machine("L2Cache", into("above")),
    )
    assert done.machines["L0Cache"].buffers["down"].joined == "L2Cache.above"


def test_a_system_has_memory() -> None:
    homes = [
        machine(name, Parameter("directory", "DirectoryMemory", pointer=True))
        for name in ("Directory", "L3Cache")
    ]
    text = "[machine.Directory]\ncount = 0"
    assert completed(text, *homes).machines["Directory"].count == 0
    with pytest.raises(DescriptionError) as caught:
        completed(f"{text}\n[machine.L3Cache]\ncount = 0", *homes)
    assert str(caught.value) == (
        "x.toml:2: machine.Directory.count = 0: memory is behind Directory and L3Cache: "
        "at least one is needed"
    )


def test_memory_may_be_behind_a_machine_without_a_directory() -> None:
    """As CHI's."""
    memory = machine("Memory", BufferParameter("requestToMemory"))
    with pytest.raises(DescriptionError, match="memory is behind Memory: at least one is needed"):
        completed("[machine.Memory]\ncount = 0", machine("L1Cache", SEQUENCER, QUEUE), memory)
    lent = machine("Cache", BufferParameter("requestToMemory"))
    assert completed("[machine.Memory]\ncount = 0", lent, memory).machines["Cache"].count == 1


def test_parameters_without_default_are_asked_for_together() -> None:
    one = machine("L1Cache", Parameter("width", "int"), Parameter("label", "std::string"))
    other = machine("L2Cache", Parameter("depth", "Cycles"))
    with pytest.raises(DescriptionError) as caught:
        completed("", one, other)
    assert str(caught.value) == (
        "x.toml: machine.L1Cache.parameters: machine L1Cache has no default for `width` (int), "
        "`label` (std::string); machine L2Cache has no default for `depth` (Cycles); say it under "
        "[machine.L1Cache.parameters], [machine.L2Cache.parameters] of the description "
        "or with --set machine.L1Cache.parameters.width=VALUE (one for each)"
    )
    error = caught.value
    assert isinstance(error, MissingParameters)
    assert error.placeholders == {
        "machine.L1Cache.parameters.width": 0,
        "machine.L1Cache.parameters.label": "",
        "machine.L2Cache.parameters.depth": 0,
    }


TOKENS = """
[machine.L1Cache]
count = {count}
[machine.L1Cache.derived]
tokens = {{ count = "L1Cache", times = 2, plus = 1 }}
late = {{ parameter = "Directory.late" }}
depth = {{ parameter = "Directory.depth", plus = -1 }}
"""


def test_derived_parameters_follow_what_they_are_derived_from() -> None:
    cache = machine(
        "L1Cache",
        Parameter("tokens", "int"),
        Parameter("late", "bool"),
        Parameter("depth", "int"),
    )
    directory = machine("Directory", Parameter("late", "bool"), Parameter("depth", "int", 7))
    for count in (3, 8):
        done = completed(TOKENS.format(count=count), cache, directory)
        values = done.machines["L1Cache"].parameters
        assert (values["tokens"], values["late"], values["depth"]) == (2 * count + 1, False, 6)
    text = TOKENS.format(count=1) + (
        "[machine.L1Cache.parameters]\ntokens = 40\n"
        "[machine.Directory.parameters]\nlate = true\ndepth = 1"
    )
    values = completed(text, cache, directory).machines["L1Cache"].parameters
    assert (values["tokens"], values["late"], values["depth"]) == (40, True, 0)


@pytest.mark.parametrize(
    ("derived", "words"),
    [
        ("tokens = {}", "expected one of count"),
        ("tokens = { count = 'L1Cache', parameter = 'A.b' }", "expected one of count"),
        ("tokens = { count = 'L1Cash' }", "x.toml:2: machine.L1Cache.derived.tokens.count"),
        ("tokens = { parameter = 'late' }", "expected Machine.name"),
        ("tokens = { parameter = 'L2Cache.late' }", "no such machine"),
        ("tokens = { parameter = 'L1Cache.later' }", "did you mean `late`?"),
        ("tokens = { parameter = 'L1Cache.tokens' }", "has no value itself"),
        ("tokens = { count = 'L1Cache', plus = -9999999 }", "plus"),
        ("tokens = { parameter = 'L1Cache.late' }", "expected an integer"),
        ("token = { count = 'L1Cache' }", "did you mean `tokens`?"),
    ],
)
def test_what_cannot_be_derived_says_so(derived: str, words: str) -> None:
    cache = machine("L1Cache", Parameter("tokens", "int"), Parameter("late", "bool"))
    with pytest.raises(DescriptionError) as caught:
        completed(f"[machine.L1Cache.derived]\n{derived}", cache)
    assert words in str(caught.value)


def test_values_may_mean_nothing() -> None:
    cache = machine("L1Cache", SEQUENCER, QUEUE)
    assert completed("", cache).values
    done = completed("values = false", cache)
    assert not done.values
    assert SystemDescription.from_toml(done.to_toml()) == done
    with pytest.raises(DescriptionError, match="expected true or false"):
        completed("values = 1", cache)


def test_a_network_in_order_unless_somebody_says_otherwise() -> None:
    cache = machine(
        "L1Cache",
        out("request", virtual_network=0),
        out("hurried", virtual_network=1, ordered_hint=False),
        out("said", virtual_network=2),
        BufferParameter("triggerQueue"),
    )
    text = "[machine.L1Cache.buffer]\nsaid = { capacity = 3 }"

    def ordered(given: str) -> list[bool]:
        buffers = completed(given, cache).machines["L1Cache"].buffers.values()
        return [buffer.ordered for buffer in buffers]

    assert ordered(text) == [False] * 4
    assert ordered(text + "\n[network]\nordered = true") == [True, False, False, False]


def test_what_is_on_the_bus() -> None:
    caches = machine("L1Cache", out("ask", virtual_network=0), into("data", virtual_network=3))
    assert completed("", caches).network.bus is None
    assert completed("network.kind = 'bus'", caches).network.bus == (0, 3)
    assert completed("[network]\nkind = 'bus'\nbus = [3]", caches).network.bus == (3,)
    with pytest.raises(DescriptionError, match=r"network.bus\[1\] = 1: no machine has") as caught:
        completed("[network]\nkind = 'bus'\nbus = [0, 1]", caches)
    assert "there are 0, 3" in str(caught.value)
    assert caught.value.line == 3
