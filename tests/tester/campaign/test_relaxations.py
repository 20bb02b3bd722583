"""A failing leg in systems that ask less of its protocol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.relaxations import relaxed
from tester.diagnosis.failure_report import render
from tester.execution.events import Verdict
from tester.execution.leg import LegRun
from tester.profiles.limited_resources import limits_in
from tester.program.replay_file import Leg
from tests.planted.bugs import BY_NAME

COUNTS = "[machine.L1Cache]\ncount = 4\n"


def mine(directory: Path, description: str) -> LoadedProtocol:
    """MSI under another name, with a description that says nothing of order."""
    for name in ("MSI.slicc", "MSI-cache.sm", "MSI-dir.sm", "MSI-msg.sm"):
        (directory / name.replace("MSI.", "Mine.")).write_text((DIRECTORY / name).read_text())
    (directory / "Mine.toml").write_text(description)
    return load_protocol(str(directory / "Mine.slicc"))


def first_failure(protocol: LoadedProtocol, profile: str) -> str:
    campaign = Campaign(protocol, Options(1, 1000, profile))
    for plan in campaign.plans():
        run, finding = campaign.run_leg(plan.leg)
        if finding is not None and isinstance(run, LegRun):
            return render(campaign.explain(plan.leg, run, finding))
    raise AssertionError("everything passed")


def test_a_protocol_that_needs_order_is_told_so(tmp_path: Path) -> None:
    text = " ".join(first_failure(mine(tmp_path, COUNTS), "line-duel").split())
    assert "it passes on networks that keep order, same program and same delays" in text


def test_order_is_not_tried_where_it_is_stated(tmp_path: Path) -> None:
    stated = COUNTS + "[machine.Directory.buffer]\nresponseToCache = { ordered = true }\n"
    protocol = mine(tmp_path, stated)
    assert "in an easier system" not in first_failure(protocol, "line-duel")


def test_who_snoops_without_a_bus_is_told_so(tmp_path: Path) -> None:
    """MSI_Snoop on point-to-point networks, where caches disagree about whose turn it is."""
    protocol = load_protocol("MSI_Snoop")
    said = {}
    for kind in ("point_to_point", "bus"):
        options = Options(1, 200, "line-duel", assignments={"network.kind": kind})
        campaign = Campaign(protocol, options)
        said[kind] = []
        for plan in campaign.plans():
            run, finding = campaign.run_leg(plan.leg)
            if finding is not None and isinstance(run, LegRun):
                said[kind] = list(campaign.explain(plan.leg, run, finding).easier)
                break
    assert said["bus"] == []
    [line] = said["point_to_point"]
    assert re.match(r"L1Cache \d sends Get[SM] to itself and to others\. .*=bus tries it", line)


def test_a_bug_that_needs_no_limits(tmp_path: Path) -> None:
    protocol = load_protocol(str(BY_NAME["mi-two-owners"].plant(tmp_path)))
    text = " ".join(first_failure(protocol, "scarcity").split())
    assert "that profile scarcity drew as well" in text


@pytest.mark.parametrize("needed", ["tables", "buffers", "both"])
def test_limits_are_lifted_together_and_kind_by_kind(needed: str) -> None:
    """As if a protocol needed large tables, free buffers, or both."""
    protocol = load_protocol("MI")
    options = Options(1, 30, "scarcity", {"entries": 4, "send_slots": 1, "busy_cycles": 0})
    leg = Campaign(protocol, options).plan(0).leg
    ran = []

    def failure_of(changed: Leg) -> str:
        ran.append(changed)
        assert changed.program is leg.program
        cache, usual = (
            each.machines["L1Cache"] for each in (changed.description, protocol.description)
        )
        tables = cache.parameters["number_of_TBEs"] == usual.parameters["number_of_TBEs"]
        buffers = all(buffer.capacity == 0 for buffer in cache.buffers.values())
        passes = {"tables": tables, "buffers": buffers, "both": tables and buffers}[needed]
        return "" if passes else "hang"

    text = relaxed(leg, protocol, failure_of)
    alone = [line for line in text if line.endswith(" alone")]
    kind = {"tables": "small tables", "buffers": "bounded buffers"}.get(needed)
    assert alone == ([f"it passes without the {kind} alone"] if kind else [])
    assert text[0].startswith("it passes without the small tables and bounded buffers that")
    assert text[-1].startswith("limits: machine.L1Cache.parameters.number_of_TBEs = 4 (usual: ")
    assert len(ran) == 3


def test_an_instance_that_only_the_description_has(tmp_path: Path) -> None:
    """Legs draw counts: a protocol that names one by its number was said to be wrong."""
    protocol = mine(tmp_path, COUNTS + "[machine.Directory]\ncount = 8\n")
    cache = tmp_path / "MSI-cache.sm"
    home = "mapAddressToMachine(address, MachineType:Directory)"
    assert home in cache.read_text()
    one = "createMachineID(MachineType:Directory, intToID(7))"
    cache.write_text(cache.read_text().replace(home, one))
    protocol = load_protocol(protocol.identity.path)
    text = " ".join(first_failure(protocol, "line-duel").split())
    assert "the description has 8 Directory, this leg 2: --set machine.Directory.count=8" in text
    campaign = Campaign(protocol, Options(1, 1000, assignments={"machine.Directory.count": 8}))
    leg = campaign.plan(0).leg
    text = " ".join(relaxed(leg, protocol, lambda _: "", "Directory-7 is not part of the system"))
    assert "the description has" not in text


def test_a_runaway_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verdict takes seconds already."""
    protocol = mine(tmp_path, COUNTS)
    campaign = Campaign(protocol, Options(1, 1000, "line-duel"))
    for plan in campaign.plans():
        run, finding = campaign.run_leg(plan.leg)
        if finding is not None and isinstance(run, LegRun):
            break
    monkeypatch.setattr(campaign, "failure_of", lambda leg: pytest.fail("a leg was run"))
    finding.verdict = Verdict.RUNAWAY
    assert not campaign.explain(plan.leg, run, finding).easier


def test_nothing_is_run_where_nothing_can_be_relaxed() -> None:
    protocol = load_protocol("MI")
    leg = Campaign(protocol, Options(1, 30, "line-duel")).plan(0).leg
    assert relaxed(leg, protocol, lambda _: pytest.fail("a leg was run")) == []


def test_tables_that_grow_with_the_system_are_no_limits(tmp_path: Path) -> None:
    path = tmp_path / "MI.toml"
    path.write_text(
        '[machine.Directory.derived]\nnumber_of_TBEs = { count = "L1Cache", times = 20 }\n'
    )
    protocol = load_protocol("MI", system=path)
    sizes = set()
    for units in (1, 8):
        leg = Campaign(protocol, Options(1, 30, "line-duel", {"units": units})).plan(0).leg
        sizes.add(leg.description.machines["Directory"].parameters["number_of_TBEs"])
        assert limits_in(leg.description, protocol.description) == []
    assert sizes == {20, 160}
