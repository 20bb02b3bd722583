"""Profiles draw what they promise, the same for the same seed, and obey what is fixed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocols import DIRECTORY, shipped
from protocols.loader import LoadedProtocol, load_protocol
from runtime.controller.declarations import Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import SystemDescription
from runtime.description.inference import complete
from runtime.description.parts import MAX_COUNT, MAX_LANES, MAX_WAVEFRONTS
from runtime.prng import Prng
from tester import limits
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.drawing.profile_schedule import rotation, turn_of_leg
from tester.errors import ConfigError
from tester.generator.generator import generate_program
from tester.profiles import limited_resources, machine_roles, profiles, special_profiles
from tester.program.verifier import verify
from tests.planted.bugs import BY_NAME
from tests.sampling import sampled
from tests.tester.programs import Execution, cpu, gpu

ALL = tuple(profiles.PROFILES)


@pytest.mark.parametrize("name", sampled(ALL, 2))
def test_every_profile_gives_legal_and_concurrent_programs(name: str) -> None:
    live = []
    for seed in range(4):
        scenario = profiles.draw(name, Prng(seed))
        agents = scenario.shape.agents
        program = generate_program(
            replace(scenario.program, episodes=max(6 * agents, 30)), Prng(seed)
        )
        if np.count_nonzero(program.active()) < 6000:
            assert verify(program) == []
        slots = int(np.diff(program.episode_first_action).sum()) * scenario.shape.lanes
        assert program.active().sum() > 0.3 * slots
        live.append(Execution(program, seed).live / (1 if name == "relay" else agents))
    if name == "relay":
        # Nearly every agent waits for another's store, so more agents are not more at once: 12
        # units and only stores that are followed find more (docs/tester-programs.md, Profiles).
        assert np.mean(live) >= 2.5
        return
    # Up to 32 agents on one or two lines wait for a location more often than others.
    assert np.mean(live) >= (0.5 if name == "starvation" else 0.6)


def test_the_large_shapes_are_legal_too() -> None:
    scenario = profiles.draw("lane-merge", Prng(0), {"lanes": 64, "units": 2})
    program = generate_program(replace(scenario.program, episodes=12), Prng(0))
    assert program.lanes == 64
    assert verify(program) == []


def test_same_seed_same_scenario() -> None:
    for name in (*ALL, *special_profiles.COMPARISONS):
        first = profiles.draw(name, Prng(5))
        assert profiles.draw(name, Prng(5)) == first
        assert any(profiles.draw(name, Prng(seed)) != first for seed in range(6, 12))


def test_profiles_are_what_their_names_say() -> None:
    for seed in range(8):
        shapes = {name: profiles.draw(name, Prng(seed)) for name in ALL}
        assert shapes["write-back"].shape.write_back
        assert shapes["bank-skew"].shape.banks >= 2
        assert shapes["bank-skew"].shape.directories >= 2
        assert shapes["acquire-crossing"].shape.wavefronts >= 4
        assert shapes["lane-merge"].shape.lanes >= 8
        assert shapes["hot-ping-pong"].shape.wavefronts == 1
        assert 2 <= (shapes["line-duel"].program.map.lines or 0) <= 4
        replacement = shapes["replacement"]
        assert (replacement.program.map.lines or 0) >= 2 * replacement.shape.l2_lines
        conflict = shapes["set-conflict"]
        stride = conflict.program.map.stride_lines
        assert stride % conflict.shape.l1_sets == 0
        assert stride % (conflict.shape.l2_sets * conflict.shape.banks) == 0
        # With a single frame, two requests that need each other's frame are no bug.
        assert all(s.shape.l1_sets * s.shape.l1_ways >= 2 for s in shapes.values())
        assert all(s.shape.l2_lines >= 2 for s in shapes.values())


def test_famine_leaves_room_for_few_requests() -> None:
    seen = set()
    for seed in range(6):
        shape = profiles.draw("resource-famine", Prng(seed)).shape
        description = load_protocol("MESI_Two_Level").description
        info = load_protocol("MESI_Two_Level").info
        limits = limited_resources.limits(shape, info, description)
        shaped = machine_roles.overrides(shape, info, description)
        system = description.override(shaped | limits)
        assert system.machines["L1Cache"].parameters["number_of_TBEs"] == shape.entries <= 4
        assert system.machines["Directory"].parameters["number_of_TBEs"] > 4
        assert system.requesters["cpu"].outstanding == shape.outstanding <= 2
        turns = {m.parameters["transitions_per_cycle"] for m in system.machines.values() if m.count}
        assert turns == {shape.transitions or 32}
        slow = {
            limit.value
            for limit in limited_resources.limits_in(system, description)
            if limit.kind == "slow controllers"
        }
        assert slow == ({shape.transitions} if shape.transitions else set())
        seen.add((shape.entries, shape.outstanding))
    assert len(seen) > 2


@pytest.mark.parametrize("is_gpu", [True, False])
def test_the_default_deals_every_profile_in_each_round(is_gpu: bool) -> None:
    # A protocol without a GPU has no use for some.
    of_gpus = {"lane-merge", "whole-line", "acquire-crossing", "relay", "scope-mix"}
    wanted = set(profiles.ROTATION) - (set() if is_gpu else of_gpus)
    turns = [turn_of_leg("default", Prng(3), n, is_gpu) for n in range(200)]
    drawn = [turn.profile for turn in turns]
    count = next(n for n in range(200) if set(drawn[5:n]) == wanted)
    assert count <= 5 + 42
    assert set(drawn[105:]) == wanted
    assert drawn != [turn_of_leg("default", Prng(9), n, is_gpu).profile for n in range(200)]
    assert turn_of_leg("line-duel", Prng(1), 7).profile == "line-duel"


@pytest.mark.parametrize("is_gpu", [True, False])
def test_the_first_five_legs_have_what_short_runs_need(is_gpu: bool) -> None:
    for seed in range(6):
        turns = [turn_of_leg("default", Prng(seed), n, is_gpu) for n in range(5)]
        drawn = [profiles.draw(t.profile, Prng(seed), t.pinned) for t in turns]
        assert all(scenario.shape.dmas for scenario in drawn)
        smaller = {
            s.shape.write_back for s in drawn if (s.program.map.lines or 0) >= 2 * s.shape.l2_lines
        }
        assert smaller == {False, True}
        assert "starvation" in {turn.profile for turn in turns}


def test_a_bus_has_turns_of_its_own() -> None:
    """Owners that are late, beside all that processors have anyway."""
    late = [turn for turn in rotation(False, True) if turn.pinned.get("send_slots")]
    assert len(late) > len([turn for turn in rotation(False) if turn.pinned.get("send_slots")])
    assert all(turn in rotation(False, True) for turn in rotation(False))
    with_bus, without = (load_protocol(name).description for name in ("MSI_Snoop", "MSI"))
    assert machine_roles.has_bus(with_bus) and not machine_roles.has_bus(without)


def test_a_prefetcher_gets_accesses_in_order(tmp_path: Path) -> None:
    """Lines drawn at random hardly ever train one."""
    for text in DIRECTORY.glob("MSI*.sm"):
        port = "    Sequencer * sequencer;\n"
        changed = text.read_text().replace(port, f"{port}    RubyPrefetcher * prefetcher;\n")
        (tmp_path / text.name).write_text(changed)
    (tmp_path / "MSI.slicc").write_text(shipped()["MSI"].read_text())

    def in_order(protocol: LoadedProtocol) -> int:
        """Of the legs, those in which most episodes of a processor go from line to line."""
        legs = Campaign(protocol, Options(1, 50_000)).legs
        found = 0
        for number in range(60):
            draft = legs.draft(number, legs.turn(number), 0)
            able = draft.config.abilities[0].streams
            found += able and draft.config.stream_percent > 50
        return found

    assert in_order(load_protocol(str(tmp_path / "MSI.slicc"))) > 0
    assert in_order(load_protocol("MSI")) == 0


def test_processors_share_ports_in_some_turns(tmp_path: Path) -> None:
    """A value that one of them keeps is stale once the line is replaced for another one of them,
    which the cache must report."""
    shared = (turn for turn in rotation(False) if turn.pinned.get("processor_threads", 1) == 3)
    turns = {turn.profile: turn for turn in shared}
    assert set(turns) == {"set-conflict", "line-duel"}
    protocol = load_protocol(str(BY_NAME["msi-replaced-copy-is-not-reported"].plant(tmp_path)))
    for profile, turn in turns.items():
        campaign = Campaign(protocol, Options(1, 1000, profile, fixed=turn.pinned))
        legs = [campaign.plan(number).leg for number in range(10)]
        findings = [campaign.run_leg(leg)[1] for leg in legs]
        assert any(found and "the value was kept" in found.headline for found in findings)


def test_system_legs_are_many_and_short() -> None:
    turns = [turn_of_leg("default", Prng(1), n) for n in range(100)]
    assert sum(turn.profile == "system" for turn in turns) >= 15
    assert {turn.longest for turn in turns if turn.profile == "system"} == {150}


def test_some_legs_have_more_than_eight_first_level_caches() -> None:
    for is_gpu in (True, False):
        turns = [turn_of_leg("default", Prng(1), n, is_gpu) for n in range(60)]
        units = [
            profiles.draw(turn.profile, Prng(n), turn.pinned).shape.units
            for n, turn in enumerate(turns)
        ]
        assert sum(count > 8 for count in units) >= 2


def test_scarcity_limits_each_resource_by_what_a_row_needs() -> None:
    seen = set()
    loaded = load_protocol("GPU_VIPER_APU")
    needs = {
        (machine.MACHINE, need.target): need.count
        for machine in loaded.info.machines
        for row in machine.TRANSITIONS.values()
        for need in row.needs
    }
    for seed in range(12):
        shape = profiles.draw("scarcity", Prng(seed)).shape
        limits = limited_resources.limits(shape, loaded.info, loaded.description)
        system = complete(loaded.description.override(limits), loaded.info)
        for name, machine in system.machines.items():
            for buffer, described in machine.buffers.items():
                if described.capacity:
                    need = needs[machine.of or name, buffer]
                    assert described.capacity == need * shape.send_slots
                    seen.add(buffer)
            for cache in machine.caches.values():
                banked = name in BANKED and machine.count and shape.busy_cycles
                assert cache.resource_stalls == bool(banked)
        for name, wanted in (
            ("TCC", shape.entries),
            ("Directory", shape.directory_entries),
            ("DMA", shape.dma_entries),
        ):
            if wanted:
                assert system.machines[name].parameters["number_of_TBEs"] == wanted
    assert "mandatoryQueue" not in seen and "responseToCore" in seen and "requestToMemory" in seen


def asking_for_room(directory: Path) -> LoadedProtocol:
    """MI, whose directory does not leave it to its rows whether there is room in its table."""
    for path in shipped()["MI"].parent.glob("MI[.-]*"):
        shutil.copy(path, directory)
    text = (directory / "MI-dir.sm").read_text(encoding="utf-8")
    requests, engines = (
        f"{each}_in.isReady(clockEdge())" for each in ("requestNetwork", "dmaRequestQueue")
    )
    room = "TBEs.areNSlotsAvailable(1, clockEdge())"
    for old, new in (
        ("    check_allocate(TBEs);\n", ""),
        ("void allocate(Addr);", "void allocate(Addr); bool areNSlotsAvailable(int, Tick);"),
        (requests, f"{requests} && {room}"),
        (engines, f"{engines} && {room}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (directory / "MI-dir.sm").write_text(text, encoding="utf-8")
    return load_protocol(str(directory / "MI.slicc"))


def test_tables_are_small_where_statements_ask_for_their_room(tmp_path: Path) -> None:
    loaded = asking_for_room(tmp_path)
    rows = loaded.info.machine("Directory").TRANSITIONS.values()
    assert not any(need.target == "TBEs" for row in rows for need in row.needs)
    seen = set()
    for seed in range(12):
        shape = profiles.draw("scarcity", Prng(seed)).shape
        limits = limited_resources.limits(shape, loaded.info, loaded.description)
        seen.add(limits.get("machine.Directory.parameters.number_of_TBEs"))
    assert seen == {None, 2, 4}
    session = Campaign(loaded, Options(1, 400, profile="scarcity"))
    for planned in session.plans():
        assert session.run_leg(planned.leg)[1] is None


BANKED = ("TCP", "TCC", "SQC", "Scalar")
"""Machines of GPU_VIPER_APU whose rows name the arrays that they use."""


def test_a_round_has_every_kind_of_stimulus() -> None:
    drawn = [profiles.draw(name, Prng(seed)) for seed in range(6) for name in ALL]
    for values in (
        {s.shape.dmas for s in drawn},
        {s.shape.fetchers for s in drawn},
        {s.shape.scalars for s in drawn},
        {s.shape.l3_writes for s in drawn},
        {s.shape.write_back for s in drawn},
        {s.program.scope_percent for s in drawn},
        {s.program.atomic_scope_percent for s in drawn},
        {s.program.quiet_percent for s in drawn},
    ):
        assert len(values) >= 2 and 0 in values


def test_fixing_one_option_changes_no_other() -> None:
    for name in ALL:
        free = profiles.draw(name, Prng(3))
        fixed = profiles.draw(name, Prng(3), {"delays": "nominal"})
        assert fixed.shape == replace(free.shape, delays="nominal")
        assert fixed.program == free.program
        for option, value in (("groups", 5), ("lengths", (7, 8)), ("tight_percent", 1)):
            drawn = profiles.draw(name, Prng(3), {option: value})
            owner = drawn.program.map if option == "groups" else drawn.program
            assert getattr(owner, option) == value
            assert drawn.shape == free.shape


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        ({"colour": 3}, "no option 'colour'; there are array_banks, atomic_percent, "),
        ({"agents": ()}, "no option 'agents'"),
        ({"units": "four"}, "option units is 'four', int is needed"),
        ({"units": 0}, "units is 0, 1 to 64"),
        ({"dmas": -1}, "dmas is -1, 0 to 64"),
        ({"l1_sets": 3}, "l1_sets is 3, a power of two"),
        ({"write_back": 1}, "bool is needed"),
        ({"groups": 0}, "groups is 0"),
        ({"load_percent": (3, 200)}, "load_percent"),
    ],
)
def test_bad_options_are_named(fixed: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        profiles.draw("coherence", Prng(1), fixed)


def test_unknown_profiles_are_named() -> None:
    with pytest.raises(ConfigError, match="no profile 'fast'; there are default, replacement"):
        profiles.draw("fast", Prng(1))
    with pytest.raises(ConfigError, match=r"no profile 'relai'; did you mean relay\?$"):
        profiles.draw("relai", Prng(1))


def test_what_was_fixed_leaves_room_for_the_rest() -> None:
    drawn = profiles.draw("line-duel", Prng(1), {"groups": 60})
    assert drawn.program.map.lines == 15
    description = SystemDescription.from_toml(VIPER_TOML)
    for ways, replacement in ((3, "lru"), (4, "tree_plru")):
        shape = profiles.Shape(l1_ways=ways, replacement="tree_plru")
        system = description.override(machine_roles.overrides(shape, VIPER_LIKE, description))
        assert system.machines["TCP"].caches["L1cache"].replacement == replacement


def test_limits_are_those_of_what_is_built() -> None:
    assert limits.SHAPE["units"].high == MAX_COUNT and limits.SHAPE["lanes"].high == MAX_LANES
    assert limits.SHAPE["wavefronts"].high == MAX_WAVEFRONTS
    for name, limit in limits.SHAPE.items():
        for value in (limit.low, limit.high):
            replace(profiles.Shape(), **{name: value}).check()
        for value in (limit.low - 1, limit.high + 1):
            with pytest.raises(ConfigError, match=f"{name} is {value}, "):
                replace(profiles.Shape(), **{name: value}).check()


def test_relays_are_short_and_fast() -> None:
    for seed in range(4):
        scenario = profiles.draw("relay", Prng(seed))
        assert max(scenario.program.lengths) <= 2 and scenario.program.chase_percent >= 60
        assert scenario.program.bare_percent >= 60 and scenario.shape.wavefronts >= 2


def test_a_scenario_is_applied_to_the_agents_that_exist() -> None:
    scenario = profiles.draw("line-duel", Prng(4), {"groups": 1})
    agents = gpu(2, 4) + cpu(2)
    config = scenario.config(agents, 20, line_size=128, isolation_groups=(0, 0, 1, 2))
    assert config.agents == agents and config.episodes == 20
    assert config.map.line_size == 128 and config.map.groups == 3
    assert verify(generate_program(config, Prng(1))) == []


def test_crowding_follows_the_agents_that_exist() -> None:
    scenario = profiles.draw("coherence", Prng(2), {"lanes": 16})
    assert scenario.crowding is not None
    drawn, wide, narrow = (
        scenario.program.map.locations,
        scenario.config(scenario.program.agents, 10).map.locations,
        scenario.config(cpu(4), 10).map.locations,
    )
    assert drawn == wide and wide is not None and narrow is not None
    assert 8 <= narrow < wide // 8
    fixed = profiles.draw("coherence", Prng(2), {"locations": 77})
    assert fixed.config(cpu(4), 10).map.locations == 77


def _machine(name: str, *parameters: Parameter) -> Any:
    """Stands for a compiled controller class: only its declarations are looked at."""
    return type(name, (), {"MACHINE": name, "PARAMETERS": parameters})


VIPER_LIKE = ProtocolInfo(
    "test",
    (
        _machine("TCP", Parameter("WB", "bool", default=False)),
        _machine("TCC", Parameter("WB", "bool", default=False)),
        _machine("CorePair"),
        _machine("SQC"),
        _machine(
            "Directory",
            Parameter("directory", "DirectoryMemory", pointer=True),
            Parameter("useL3OnWT", "bool", default=False),
        ),
    ),
)
VIPER_TOML = """
[machine.TCP]
count = 1
[machine.TCP.cache.L1cache]
[machine.TCC]
interleaved = true
[machine.TCC.cache.L2cache]
[machine.CorePair]
[machine.CorePair.cache.L2cache]
[machine.Directory]
interleaved = true
[machine.Directory.cache.L3CacheMemory]
[requester.gpu]
machine = "TCP"
[requester.cpu]
machine = "CorePair"
[agents.gpu]
requester = "gpu"
kind = "gpu"
[agents.cpu]
requester = "cpu"
kind = "cpu"
[machine.SQC.cache.L1cache]
[machine.DMA]
[requester.instructions]
machine = "SQC"
fetch = true
[requester.dma]
machine = "DMA"
[agents.instructions]
requester = "instructions"
[agents.dma]
requester = "dma"
kind = "dma"
"""


def test_shapes_reach_the_machines_of_a_gpu() -> None:
    description = SystemDescription.from_toml(VIPER_TOML)
    found = machine_roles.find_roles(VIPER_LIKE, description)
    assert found == machine_roles.Roles(
        first=("TCP",),
        second=("TCC",),
        private=(),
        directories=("Directory",),
        processors=("CorePair",),
        dmas=("DMA",),
        fetchers=("SQC",),
        scalars=(),
        agents=("gpu",),
        is_gpu=True,
    )
    shape = profiles.Shape(
        units=3,
        wavefronts=2,
        lanes=8,
        dmas=2,
        fetchers=0,
        banks=2,
        directories=4,
        write_back=True,
        l3_sets=2,
        l3_writes=True,
    )
    assert machine_roles.idle(shape, description) == ["instructions"]
    changes = machine_roles.overrides(shape, VIPER_LIKE, description)
    system = description.override(changes)
    assert system.machines["TCP"].count == 3
    assert system.machines["TCC"].count == 2
    assert system.machines["TCC"].parameters == {"WB": True}
    assert system.machines["TCP"].parameters == {}
    assert system.machines["TCC"].caches["L2cache"].sets == shape.l2_sets
    assert system.machines["TCP"].caches["L1cache"].ways == shape.l1_ways
    assert system.machines["Directory"].count == 4
    assert system.machines["Directory"].caches["L3CacheMemory"].sets == 2
    assert system.machines["Directory"].parameters == {"useL3OnWT": True}
    # Of 64 lines, as descriptions leave them out, none is evicted in a leg.
    assert system.machines["CorePair"].caches["L2cache"].ways == shape.l1_ways
    assert system.machines["DMA"].count == 2
    assert system.machines["SQC"].count == 1
    assert system.machines["SQC"].caches["L1cache"].ways == shape.l1_ways
    assert system.agents["gpu"].wavefronts == 2 and system.agents["gpu"].lanes == 8
    assert system.agents["cpu"].lanes is None
    assert system.network.delays == "gem5"


def test_a_protocol_without_gpu_gets_what_it_has_room_for() -> None:
    protocol = ProtocolInfo(
        "MI",
        (
            _machine("L1Cache"),
            _machine("Directory", Parameter("directory", "DirectoryMemory", pointer=True)),
        ),
    )
    text = (
        "[machine.L1Cache.cache.cacheMemory]\n[machine.Directory]\ninterleaved = true\n"
        '[requester.cpu]\nmachine = "L1Cache"\n[agents.cpu]\nrequester = "cpu"\nkind = "cpu"\n'
    )
    description = SystemDescription.from_toml(text)
    changes = machine_roles.overrides(profiles.Shape(units=5), protocol, description)
    system = description.override(changes)
    assert system.machines["L1Cache"].count == 5
    assert system.machines["L1Cache"].caches["cacheMemory"].sets == 16
    assert system.agents["cpu"].wavefronts == 1
    assert not any("agents" in path for path in changes)
