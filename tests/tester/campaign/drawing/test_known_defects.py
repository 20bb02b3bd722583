"""What a description says is broken stays out of the way of tests, unless they ask for it."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from protocols import DIRECTORY, shipped
from protocols.loader import LoadedProtocol, load_protocol
from runtime.description import DefectDescription, SystemDescription, load_description
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.known_defects import avoided, resembling
from tester.campaign.drawing.options import Options
from tester.campaign.left_out import LeftOut
from tester.cli.options.run import RunOptions
from tester.cli.verbs.run import drawn_options, run
from tester.diagnosis.failure_report import render
from tester.errors import ConfigError
from tester.execution.handover import agents_of
from tester.execution.leg import LegRun
from tester.program.program import BARE, FETCH, GLC, SLC, STORE
from tests.sampling import sampled
from tests.tester.native.solo import write
from tests.tester.shrink.failing import failing

WRITTEN = """
[machine.DMA]
count = 1
[requester.cpu]
machine = "L1Cache"
[requester.dma]
machine = "DMA"
[agents.cpu]
requester = "cpu"
[agents.dma]
requester = "dma"
[[defect]]
name = "two-directories"
what = "two directories get in each other's way"
where = "MI-dir.sm:1"
avoid = { "machine.Directory.count" = 1, "machine.Directory.parameters.directory_latency" = 3 }
[[defect]]
name = "engine-stores"
what = "engines store in the wrong place"
avoid = { "agents.dma.without" = ["stores"], "agents.nobody.lanes" = 4 }
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("system") / "MI.toml"
    path.write_text(WRITTEN)
    return path


@pytest.fixture(scope="module")
def loaded(file: Path) -> LoadedProtocol:
    return load_protocol("MI", system=file)


def descriptions(loaded: LoadedProtocol, **options: Any) -> list[SystemDescription]:
    campaign = Campaign(loaded, Options(seed=3, episodes=400, **options))
    return [campaign.plan(number).leg.description for number in range(8)]


def test_every_leg_avoids_them(loaded: LoadedProtocol) -> None:
    legs = descriptions(loaded)
    assert {leg.machines["Directory"].count for leg in legs} == {1}
    assert {leg.machines["Directory"].parameters["directory_latency"] for leg in legs} == {3}
    assert not any(leg.defects for leg in legs), "replay files need not know"
    engines = [leg.agents["dma"].without for leg in legs if "dma" in leg.agents]
    assert engines and set(engines) == {("stores",)}


def test_each_leg_draws_a_way_to_avoid_one(loaded: LoadedProtocol) -> None:
    """With one way alone, what it leaves out would never be tested."""
    two, stores = loaded.written.defects
    other = replace(two, instead=({"machine.L1Cache.count": 7},))
    drawing = dataclasses.replace(loaded, written=replace(loaded.written, defects=(other, stores)))
    legs = descriptions(drawing)
    assert legs == descriptions(drawing), "the same seed, the same legs"
    units = [leg.machines["L1Cache"].count == 7 for leg in legs]
    assert {True, False} == set(units)
    for leg, instead in zip(legs, units, strict=True):
        assert instead or leg.machines["Directory"].count == 1
        assert instead == (leg.machines["Directory"].parameters["directory_latency"] != 3)
    attacked = descriptions(drawing, attack=("two-directories",))
    assert not any(leg.machines["L1Cache"].count == 7 for leg in attacked)
    heavy = replace(other, weight=9)
    drawing = dataclasses.replace(loaded, written=replace(loaded.written, defects=(heavy, stores)))
    often = [leg.machines["L1Cache"].count == 7 for leg in descriptions(drawing)]
    assert 3 * sum(often) < sum(units)


def test_ways_that_need_each_other_are_drawn_together(loaded: LoadedProtocol) -> None:
    """A processor whose caches may be small where no probe takes its lines away."""
    two, stores = loaded.written.defects
    first = replace(two, instead=({"machine.L1Cache.count": 7},))
    second = replace(
        stores, avoid={}, instead=({"agents.cpu.wavefronts": 2},), drawn_with="two-directories"
    )
    drawing = dataclasses.replace(loaded, written=replace(loaded.written, defects=(first, second)))
    drawn = [
        (leg.machines["L1Cache"].count == 7, leg.agents["cpu"].wavefronts == 2)
        for leg in descriptions(drawing, fixed={"processor_threads": 1})
    ]
    assert set(drawn) == {(True, True), (False, False)}


def test_they_are_attacked_on_request(loaded: LoadedProtocol) -> None:
    legs = descriptions(loaded, known_defects=True)
    assert {leg.machines["Directory"].count for leg in legs} >= {1, 2}
    assert not any(leg.agents["dma"].without for leg in legs if "dma" in leg.agents)


def test_single_ones_are_attacked_or_avoided_by_name(loaded: LoadedProtocol) -> None:
    legs = descriptions(loaded, attack=("two-directories",))
    assert {leg.machines["Directory"].count for leg in legs} >= {1, 2}
    assert {leg.agents["dma"].without for leg in legs if "dma" in leg.agents} == {("stores",)}
    legs = descriptions(loaded, known_defects=True, avoid=("two-directories",))
    assert {leg.machines["Directory"].count for leg in legs} == {1}
    assert {leg.agents["dma"].without for leg in legs if "dma" in leg.agents} == {()}


def test_one_that_a_text_cannot_have_is_avoided_on_request(tmp_path: Path) -> None:
    """The mended text of a protocol, or one that is another one in that place."""
    needs = 'needs = ["Directory.I.NEVER"]\nname = "two-directories"'
    path = tmp_path / "MI.toml"
    path.write_text(WRITTEN.replace('name = "two-directories"', needs))
    loaded = load_protocol("MI", system=path)
    assert [defect.name for defect in loaded.absent_defects] == ["two-directories"]
    legs = descriptions(loaded)
    assert {leg.machines["Directory"].count for leg in legs} >= {1, 2}
    legs = descriptions(loaded, avoid=("two-directories",))
    assert {leg.machines["Directory"].count for leg in legs} == {1}


def changed(lacks: str, directory: Path) -> LoadedProtocol:
    """MI with a known defect that another text has, and the row that it lacks gone."""
    like = f'lacks = ["{lacks}"]\nsame = "0123456789ab"\nname = "two-directories"'
    path = directory / "MI.toml"
    path.write_text(WRITTEN.replace('name = "two-directories"', like))
    return load_protocol("MI", system=path)


def test_a_failure_where_a_known_defect_fails_names_it(tmp_path: Path) -> None:
    """Any change of a state's rows switched the avoidance off, and the find was taken for the
    change's."""
    lacks = "Directory.I.Memory_Ack"
    loaded = changed(lacks, tmp_path)
    assert [defect.name for defect in loaded.absent_defects] == ["two-directories"]
    hint, others = resembling(lacks, True, loaded, ())
    assert hint.startswith("this may be two-directories: two directories get in each other's way")
    assert others.startswith("not kept out of the way: two-directories. ")
    assert resembling("Directory.M.Memory_Ack", True, loaded, ())[0] == hint, "in another state"
    assert not resembling(lacks, True, loaded, ("two-directories",))
    assert resembling(lacks, False, loaded, ()) == [others]
    assert resembling("Directory.I.Memory_Data", True, loaded, ()) == [others]
    assert resembling("", False, loaded, ()) == [others]
    there = "Directory.I.GETX"
    assert not resembling(there, True, changed(there, tmp_path), ())


def test_what_fails_for_want_of_a_row_fails_nowhere_else(tmp_path: Path) -> None:
    """The rows that such a defect goes through end well."""
    row, missing = "Directory.I.GETX", "Directory.I.Memory_Ack"
    loaded = changed(missing, tmp_path)
    (defect,) = loaded.absent_defects
    loaded = dataclasses.replace(loaded, absent_defects=(replace(defect, needs=(row,)),))
    assert len(resembling(missing, True, loaded, ())) == 2
    assert len(resembling(row, False, loaded, ())) == 1


def test_a_report_has_what_is_known_of_its_place(tmp_path: Path) -> None:
    broken = failing(tmp_path, "mi-late-putx-not-expected")
    place = "Directory.MI.PUTX_NotOwner"
    known = DefectDescription(
        name="late-putx", what="a late PUTX has no row", lacks=(place,), same="0123456789ab"
    )
    protocol = dataclasses.replace(broken.protocol, absent_defects=(known,))
    for avoid in ((), ("late-putx",)):
        campaign = Campaign(protocol, Options(1, 4000, avoid=avoid))
        run, finding = campaign.run_leg(broken.leg)
        assert isinstance(run, LegRun)
        assert finding is not None
        assert run.place == place
        text = render(campaign.explain(broken.leg, run, finding))
        assert ("known defects\n  this may be late-putx: " in text) == (not avoid)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"directories": 2},
            "--dirs 2 asks for what keeps a known defect out of the way: "
            "machine.Directory.count is set because two directories get in each other's way. "
            "Add --attack two-directories",
        ),
        (
            {"directories": 2, "known_defects": True, "avoid": ("two-directories",)},
            "Leave out --avoid two-directories",
        ),
        ({"attack": ("two-directory",)}, "did you mean two-directories?"),
        ({"avoid": ("nothing",)}, "(known: two-directories, engine-stores)"),
        ({"directories": 2, "attack": ("two-directories",)}, ""),
        ({"directories": 2, "known_defects": True}, ""),
        ({"directories": 1}, ""),
    ],
)
def test_an_option_is_never_dropped_for_a_defect(
    loaded: LoadedProtocol, options: dict[str, Any], said: str
) -> None:
    given = RunOptions(protocol="MI", episodes=30, seed=1, **options)
    if not said:
        drawn_options(given, loaded)
        return
    with pytest.raises(ConfigError) as refused:
        drawn_options(given, loaded)
    assert said in str(refused.value)


def test_the_command_line_has_the_last_word(loaded: LoadedProtocol) -> None:
    legs = descriptions(loaded, assignments={"machine.Directory.count": 4})
    assert {leg.machines["Directory"].count for leg in legs} == {4}


def test_only_what_is_there_is_assigned(loaded: LoadedProtocol) -> None:
    found = avoided(loaded.written.defects, loaded.written, loaded.description)
    assert found == {
        "machine.Directory.count": 1,
        "machine.Directory.parameters.directory_latency": 3,
        "agents.dma.without": ("stores",),
    }
    more = LeftOut("more", avoid={"agents.dma.without": ["loads"]}).of(Options(1, 1)).left_out
    found = avoided([*loaded.written.defects, *more], loaded.written, loaded.description)
    assert found["agents.dma.without"] == ("stores", "loads")
    alone = replace(loaded.written, agents={"cpu": loaded.written.agents["cpu"]})
    assert "agents.dma.without" not in avoided(alone.defects, alone, loaded.description)


def test_agents_without_stores_only_load(loaded: LoadedProtocol) -> None:
    campaign = Campaign(loaded, Options(seed=3, episodes=400))
    legs = [campaign.plan(number).leg for number in range(8)]
    leg = next(leg for leg in legs if "dma" in leg.description.agents)
    agents, groups = agents_of(leg.description)
    kinds = {group: agent.kind for agent, group in zip(agents, groups, strict=True)}
    assert kinds == {"cpu": "cpu", "dma": FETCH}
    program = leg.program
    of_dma = [groups[agent] == "dma" for agent in program.episode_thread]
    assert any(of_dma)
    bounds = zip(program.episode_first_action[:-1], program.episode_first_action[1:], strict=True)
    for (first, last), engine in zip(bounds, of_dma, strict=True):
        if engine:
            assert STORE not in program.action_kind[first:last]


def test_agents_without_scopes_never_bypass(loaded: LoadedProtocol) -> None:
    gpu = load_protocol("GPU_VIPER")
    fixed = {"scope_percent": 50, "atomic_scope_percent": 50}
    for without, some in ((["scopes"], False), ([], True)):
        options = Options(
            seed=3, episodes=100, fixed=fixed, assignments={"agents.gpu.without": without}
        )
        program = Campaign(gpu, options).plan(0).leg.program
        assert (program.action_scope & (GLC | SLC)).any() == some
        assert (program.episode_scope & (GLC | SLC)).any() == some


@pytest.mark.parametrize(("without", "most", "least"), [("bare", 0, 0), ("atomics", 100, 100)])
def test_hand_overs_are_as_a_description_allows(without: str, most: int, least: int) -> None:
    """With leases a hand-over needs a fetch-add; a cache without atomics cannot make one."""
    protocol = load_protocol("MSI")
    for number in range(6):
        options = Options(seed=3, episodes=400, assignments={"agents.cpu.without": [without]})
        program = Campaign(protocol, options).plan(number).leg.program
        bare = 100 * ((program.episode_scope & BARE) != 0).mean()
        assert least <= bare <= most


def test_a_run_says_what_it_leaves_out(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "known defects are kept out of the way (--attack NAME, or --known-defects for all):\n"
        "  - two-directories: two directories get in each other's way (MI-dir.sm:1)\n"
        "  - engine-stores: engines store in the wrong place\n"
    )
    for known_defects in (False, True):
        options = RunOptions(
            protocol="MI", episodes=30, seed=1, system=file, known_defects=known_defects
        )
        assert run(options) == 0
        assert (words in capsys.readouterr().out) != known_defects


def copied(name: str, directory: Path) -> Path:
    """A shipped protocol somewhere else, without its description."""
    for path in (shipped()[name], *DIRECTORY.glob("*.sm")):
        shutil.copy(path, directory)
    return directory / f"{name}.slicc"


@pytest.mark.parametrize("name", ["MSI", "MESI_Two_Level"])
def test_who_shares_names_does_not_share_defects(name: str, tmp_path: Path) -> None:
    """Ours have the names, machines and most states of gem5's: only their tables are others."""
    found = load_protocol(str(copied(name, tmp_path))).written
    assert found.origin.file == f"known system {name}"
    assert not found.defects


@pytest.mark.parametrize("name", sampled(["MSI", "GPU_VIPER", "Garnet_standalone"], 2))
def test_a_protocol_of_ones_own_may_be_called_as_it_likes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path)
    driver = (tmp_path / "Solo.slicc").read_text().replace('"Solo"', f'"{name}"')
    path = tmp_path / f"{name}.slicc"
    path.write_text(driver)
    assert load_protocol(str(path)).written == SystemDescription()
    options = RunOptions(
        protocol=str(path), episodes=60, seed=1, assignments=("machine.L1Cache.count=1",)
    )
    assert run(options) == 0
    said = capsys.readouterr().out.splitlines()[2]
    assert said.startswith(f"note: this is not the {name} that is known (")
    assert said.endswith("% of its states agree): its system is inferred")


def test_a_flushed_line_does_not_keep_accesses_from_bypassing() -> None:
    """gem5's texts of 2023 have the one defect and not yet the other."""
    file = DIRECTORY / "systems" / "GPU_VIPER.toml"
    avoided_there = {
        defect.called: defect.avoid["agents.gpu.without"]
        for defect in load_description(file).defects
        if "agents.gpu.without" in defect.avoid
    }
    assert avoided_there == {"flushed-line": ("flush",), "bypassing-store": ("flush", "scopes")}
