"""Building systems: what is inferred, what runs, what can be seen inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from runtime.controller.declarations import BufferParameter, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import (
    DescriptionError,
    SystemDescription,
)
from runtime.description.inference import complete
from runtime.prng import initial_byte
from runtime.requesters.port import Access, AccessKind
from runtime.system.system import System, agent_places
from runtime.types.messages import MachineType
from tests.coherent_view import coherent_bytes
from tests.runtime.mini_protocol import GPU, MINI, CacheController, build
from tests.runtime.requesters.requester_kit import Recorder

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


def run(system: System, *accesses: tuple[int, Access]) -> list[tuple[Any, ...]]:
    """Issue accesses one after the other, each when the one before has ended; their answers."""
    client = Recorder(system.engine)
    for requester, access in accesses:
        access.client = client
        client.issue(system.requesters[requester], access)
        system.engine.run()
    return client.answers


def access(kind: int, addresses: list[int] = [], **fields: Any) -> Access:  # noqa: B006
    client: Any = None
    return Access(kind, client, addresses=addresses, **fields)


# ------------------------------------------------------------------ inference


def test_a_small_protocol_needs_no_description_at_all() -> None:
    system = build()
    assert [repr(c) for c in system.controllers] == [
        *(f"L1Cache {i}" for i in range(4)),
        "Directory 0",
        "DMA 0",
    ]
    assert [(r.name, r.kind, r.index) for r in system.requesters] == [
        *((f"cpu{i}", "cpu", i) for i in range(4)),
        ("dma0", "dma", 4),
    ]
    assert [a.name for a in system.agents()] == ["cpu0", "cpu1", "cpu2", "cpu3", "dma0"]
    ids = [c.consumer_id for c in (*system.controllers, *system.requesters)]
    assert ids == list(range(len(ids)))
    description = system.description
    assert description.machines["L1Cache"].parameters["send_evictions"] is False
    assert description.machines["L1Cache"].interleaved is False
    assert description.machines["Directory"].interleaved is True
    assert system.leaks() == []


def test_completion_says_everything_and_is_its_own_completion() -> None:
    given = SystemDescription.from_toml("[machine.Directory]\ncount = 2", "x.toml")
    completed = complete(given, GPU)
    assert complete(completed, GPU) == completed
    assert completed.machines["TCP"].parameters["Directory_select_num_bits"] == 1
    assert completed.machines["L1Cache"].caches["cache"].start_index_bit == 6
    assert list(completed.machines) == ["TCP", "L1Cache", "Directory"]
    assert list(completed.requesters) == ["gpu", "cpu"]
    assert (completed.requesters["gpu"].walk, completed.requesters["cpu"].walk) == (True, False)
    assert completed.agents["gpu"].lanes == 16
    text = completed.to_toml()
    assert SystemDescription.from_toml(text) == completed
    plain = json.loads(json.dumps(completed.to_dict(), sort_keys=True))
    assert complete(SystemDescription.from_dict(plain), GPU) == completed
    again = complete(SystemDescription.from_dict(plain), GPU)
    assert list(again.machines) == list(completed.machines)
    assert list(again.requesters) == list(completed.requesters)
    assert completed.summary().startswith("protocol not named: 4 TCP, 4 L1Cache, 2 Directory")


def test_a_requester_parameter_that_nobody_names_is_there_and_idle() -> None:
    system = build(protocol=GPU)
    assert [r.name for r in system.idle_requesters] == [f"TCP{i}.sequencer" for i in range(4)]
    for controller in system.controllers[:4]:
        assert controller.parameters["sequencer"] in system.idle_requesters
        assert controller.parameters["coalescer"].controller is controller


def test_a_machine_may_be_left_out() -> None:
    class Wired(CacheController):
        MACHINE = "L3Cache"
        MACHINE_TYPE = MachineType.L3Cache
        PARAMETERS = (Parameter("wire", "WireBuffer", pointer=True), *CacheController.PARAMETERS)

    protocol = ProtocolInfo("wired", (Wired, *MINI.machines))
    system = build("machine.DMA.count = 0", protocol)
    assert {c.MACHINE for c in system.controllers} == {"L1Cache", "Directory"}
    assert [r.name for r in system.requesters] == ["cpu0", "cpu1", "cpu2", "cpu3"]
    assert build("machine.L3Cache.count = 1", protocol).buffers["L3Cache0.wire"].capacity == 0


def test_explicit_groups_links_and_agents() -> None:
    text = """
        [machine.TCP]
        count = 4
        [machine.L1Cache]
        count = 2
        [requester.vector]
        machine = "TCP"
        invalidates = "instructions"
        tokens = 7
        [requester.instructions]
        machine = "L1Cache"
        fetch = true
        [agents.waves]
        requester = "vector"
        wavefronts = 2
        lanes = 8
    """
    system = build(text, GPU)
    vectors = system.requesters[:4]
    scalars = system.requesters[4:]
    assert [v.linked[0] for v in vectors] == [scalars[0], scalars[0], scalars[1], scalars[1]]  # type: ignore[union-attr]
    assert scalars[0].walks  # type: ignore[union-attr]
    assert vectors[0].max_tokens == 7  # type: ignore[union-attr]
    places = agent_places(system.description)
    assert [(p.group, p.kind, p.requester, p.lanes) for p in places] == [
        ("waves", "gpu", i, 8) for i in range(4) for _ in range(2)
    ]
    assert [p.name for p in places][:3] == ["waves0.0", "waves0.1", "waves1.0"]


def test_lines_are_dealt_out_to_directories() -> None:
    system = build("[machine.Directory]\ncount = 3")
    answers = run(system, *((0, access(LOAD, [64 * i])) for i in range(6)))
    assert len(answers) == 6
    directories = [c for c in system.controllers if c.MACHINE == "Directory"]
    assert [c.parameters["directory"].isPresent(64 * 4) for c in directories] == [
        False,
        True,
        False,
    ]


def test_banked_caches_index_above_the_bank_bits() -> None:
    class Bank(CacheController):
        MACHINE = "L2Cache"
        MACHINE_TYPE = MachineType.L2Cache
        PARAMETERS = (Parameter("cache", "CacheMemory", pointer=True),)

    protocol = ProtocolInfo("banked", (Bank,))
    for count, bit in ((1, 7), (4, 9), (3, 7)):
        given = SystemDescription.from_toml(f"line_size = 128\nmachine.L2Cache.count = {count}")
        assert complete(given, protocol).machines["L2Cache"].caches["cache"].start_index_bit == bit


# ------------------------------------------------------------------ running


def test_data_really_moves_through_caches_and_memory() -> None:
    system = build("[machine.L1Cache.cache.cache]\nsets = 1\nways = 1", key=5)
    answers = run(
        system,
        (0, access(LOAD, [0x44], size=2)),
        (0, access(STORE, [0x44], size=4, values=[0xAABBCCDD])),
        (0, access(LOAD, [0x1000])),
        (1, access(LOAD, [0x45], size=2)),
        (1, access(ATOMIC, [0x48], values=[1])),
        (1, access(LOAD, [0x48])),
    )
    loads = [answer[4] for answer in answers if answer[0] == "loaded"]
    first = [initial_byte(5, address) for address in range(0x44, 0x4C)]
    assert loads[0] == [first[0] | first[1] << 8]
    assert loads[2] == [0xBBCC]
    before = int.from_bytes(bytes(first[4:8]), "little")
    assert loads[3] == [(before + 1) % (1 << 32)]
    assert system.leaks() == []
    assert system.memory_byte(0x48) == first[4]
    assert system.memory_bytes([0x48]) == [first[4]]
    assert coherent_bytes(system, [0x44, 0x48]) == [0xDD, (first[4] + 1) % 256]


def test_a_system_runs_to_a_tick_or_to_its_rest() -> None:
    system = build()
    client = Recorder(system.engine)
    load = access(LOAD, [0x40])
    load.client = client
    client.issue(system.requesters[0], load)
    assert system.run(until=1) <= 1
    assert client.answers == []
    last = system.run()
    assert client.answers and system.engine.now == last
    assert system.run() == last, "nothing is left to do"


def test_gpu_lanes_atomics_walk_and_flush() -> None:
    system = build(protocol=GPU)
    answers = run(
        system,
        (0, access(STORE, [0, 4, 64, 68], values=[1, 2, 3, 4])),
        (0, access(ATOMIC, [0, 0, 64], values=[10, 20, 30])),
        (0, access(LOAD, [0, 4, 64, 68], tag=1)),
        (0, access(AccessKind.FLUSH, [0, 64], size=1)),
        (0, access(LOAD, [128])),
        (0, access(AccessKind.ACQUIRE)),
    )
    old = [answer[3] for answer in answers if answer[0] == "atomic"]
    assert old == [[1, 11], [3]]
    loaded = [answer[2:5] for answer in answers if answer[0] == "loaded" and answer[1] == 1]
    assert loaded == [([0, 1], 0, [31, 2]), ([2, 3], 64, [33, 4])]
    assert [answer[0] for answer in answers].count("synchronized") == 2
    assert not system.controllers[0].caches()[0].visible
    assert [system.memory_byte(a) for a in (0, 4, 64, 68)] == [31, 2, 33, 4]
    assert system.leaks() == []


def test_dma_and_caches_see_the_same_memory() -> None:
    system = build()
    data = bytes(range(1, 101))
    answers = run(
        system,
        (4, access(STORE, [0x70], size=100, values=[int.from_bytes(data, "little")])),
        (0, access(LOAD, [0x7F], size=1)),
        (4, access(LOAD, [0x70], size=100)),
    )
    assert answers[2][4] == [16]
    assert answers[3][4][0].to_bytes(100, "little") == data
    assert system.leaks() == []


def test_same_key_same_run_and_another_key_another_one() -> None:
    def trace(key: int, delays: str) -> list[Any]:
        system = build(f'network.delays = "{delays}"', key=key)
        client = Recorder(system.engine)
        for i in range(20):
            client.issue(
                system.requesters[i % 4],
                Access(LOAD, client, tag=i, addresses=[64 * (i // 2)]),
            )
        system.engine.run()
        return [(a[1], a[-1]) for a in client.answers]

    assert trace(1, "uniform") == trace(1, "uniform")
    assert trace(1, "uniform") != trace(2, "uniform")
    assert trace(1, "nominal") == trace(2, "nominal")


def test_buffers_that_are_not_randomized_have_no_delays() -> None:
    text = """
        network.delays = "gem5"
        [machine.L1Cache.buffer]
        mandatoryQueue = { randomized = false }
        out = { randomized = false, latency = 9 }
    """
    system = build(text)
    assert system.buffers["L1Cache0.mandatoryQueue"].delays is None
    assert system.buffers["Directory0.requestToMemory"].delays is not None
    port = system.controllers[0].parameters["out"]
    assert (port.latency, port.route(4).delays) == (9, None)
    assert system.controllers[4].parameters["out"].route(0).delays is not None


def test_joined_buffers_are_one_object_per_instance() -> None:
    class Upper(CacheController):
        MACHINE = "L0Cache"
        MACHINE_TYPE = MachineType.L0Cache
        PARAMETERS = (
            Parameter("latency", "Cycles", default=1),
            BufferParameter("down", direction="To"),
            BufferParameter("up", direction="From"),
        )

        def __init__(self, context: Any) -> None:
            context.parameters |= {"cache": None}
            super().__init__(context)

    class Lower(Upper):
        MACHINE = "L1Cache"
        MACHINE_TYPE = MachineType.L1Cache
        PARAMETERS = (
            Parameter("latency", "Cycles", default=1),
            BufferParameter("fromAbove", direction="From"),
            BufferParameter("toAbove", direction="To"),
        )

    protocol = ProtocolInfo("pair", (Upper, Lower))
    text = """
        [machine.L0Cache]
        count = 2
        [machine.L0Cache.buffer]
        down = { joined = "L1Cache.fromAbove" }
        [machine.L1Cache.buffer]
        toAbove = { joined = "L0Cache.up", ordered = true }
    """
    system = build(text, protocol)
    assert len(system.controllers) == 4
    for i in range(2):
        upper, lower = system.controllers[i], system.controllers[2 + i]
        assert upper.parameters["down"] is lower.parameters["fromAbove"]
        assert lower.parameters["toAbove"] is upper.parameters["up"]
    assert system.controllers[0].parameters["up"] is not system.controllers[1].parameters["up"]
    with pytest.raises(DescriptionError, match="another number"):
        build(text, protocol, **{"machine.L1Cache.count": 3})


# ------------------------------------------------------------------ looking inside


def test_leaks_name_what_is_left_behind() -> None:
    system = build()
    client = Recorder(system.engine)
    client.issue(system.requesters[4], Access(LOAD, client, addresses=[0x40]))
    client.issue(system.requesters[0], Access(LOAD, client, addresses=[0x80]))
    system.engine.run(until=4)
    found = "\n".join(system.leaks())
    assert "DMA 0: TBEs still has line 0x40 Coming" in found
    assert "cpu0: <LOAD #1 tag 0 0x80> sent" in found
    assert "under way" in found
    system.engine.run()
    assert system.leaks() == []


def test_copies_name_every_place_with_bytes_of_a_line() -> None:
    system = build()
    run(system, (0, access(STORE, [0x48], values=[0x01020304])), (1, access(LOAD, [0x48])))
    found = system.copies(0x4B)
    assert [(c.kind, c.where, c.state) for c in found] == [
        ("cache", "L1Cache0.cache", "Here"),
        ("cache", "L1Cache1.cache", "Here"),
        ("memory", "memory", ""),
    ]
    assert [c.byte(0x4B) for c in found] == [1, initial_byte(1, 0x4B), initial_byte(1, 0x4B)]
    assert found[0].holds(0x40)

    client = Recorder(system.engine)
    system.requesters[4].issue(Access(STORE, client, addresses=[0x104], values=[0x55], size=1))
    system.engine.run(until=system.engine.now + 2)
    places = system.copies(0x104)
    tbe = next(c for c in places if c.kind == "tbe")
    assert (tbe.where, tbe.state, tbe.byte(0x104)) == ("DMA 0 TBEs", "Coming", 0x55)
    assert tbe.holds(0x104) and not tbe.holds(0x105)
    assert any(c.kind == "message" and c.byte(0x104) == 0x55 for c in places)


# ------------------------------------------------------------------ scripted delays


def _scripted(*rows: dict[str, object], **more: Any) -> System:
    return build(**{"network.delays": "scripted", "network.script": list(rows)} | more)


LATE: dict[str, object] = {
    "channel": "Directory0.out->L1Cache0.into",
    "line": 0x40,
    "message": 1,
    "delay": 100,
}


def test_a_script_delays_one_message_by_what_it_says() -> None:
    def ticks(system: System) -> list[int]:
        client = Recorder(system.engine)
        for line in (0x40, 0x80, 0x40):
            issued = access(LOAD, [line], tag=line)
            issued.client = client
            client.issue(system.requesters[0], issued)
            system.engine.run()
        return [answer[-1] for answer in client.answers]

    plain, late = ticks(build()), ticks(_scripted(LATE))
    assert [b - a for a, b in zip(plain, late, strict=True)] == [100, 100, 100]
    inside = {"channel": "Directory0.responseFromMemory", "line": 0x80, "message": 1, "delay": 9}
    assert [b - a for a, b in zip(plain, ticks(_scripted(inside)), strict=True)] == [0, 9, 9]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"channel": "Directory0.out->L1Cache9.in"},
            'network.script[0].channel = "Directory0.out->L1Cache9.in": no such channel; '
            "did you mean `Directory0.out->L1Cache",
        ),
        ({"line": 0x41}, "network.script[0].line = 65: must be a multiple of the line size, 64"),
        ({"message": 0}, "network.script[0].message = 0: must be between 1 and 2147483648"),
        ({"delay": -1}, "network.script[0].delay = -1: must be between 0 and 1048576"),
        ({"channel": 7}, "network.script[0].channel = 7: expected a string"),
    ],
)
def test_a_wrong_script_is_refused(row: dict[str, object], message: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        _scripted(LATE | row)
    assert message in str(caught.value)


def test_a_script_is_used_and_delays_no_message_twice() -> None:
    with pytest.raises(DescriptionError, match="delayed twice"):
        _scripted(LATE, LATE | {"delay": 3})
    with pytest.raises(DescriptionError, match='a script needs delays = "scripted"'):
        _scripted(LATE, **{"network.delays": "gem5"})
    assert _scripted().network.delays is not None
