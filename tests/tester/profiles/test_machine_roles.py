"""Which machines of a system stand by."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from protocols import DIRECTORY, shipped
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.cli.options.run import RunOptions
from tester.cli.verbs.run import run
from tester.profiles.machine_roles import abilities, undriven
from tests.planted.bug import PROTOCOLS

EVICTION = "sequencer.evictionCallback(address);"

ONLY_PROCESSORS = """
[machine.L1Cache]
count = 2
[requester.cpu]
machine = "L1Cache"
[agents.cpu]
requester = "cpu"
"""

BYSTANDER = """
machine(MachineType:L3Cache, "Stands by")
  : MessageBuffer * requestIn, network="From", virtual_network="2", vnet_type="request";
{
  state_declaration(State, default="L3Cache_State_I") {
    I, AccessPermission:Invalid;
  }
  enumeration(Event) { Request; }
  State getState(Addr addr) { return State:I; }
  void setState(Addr addr, State state) { }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:Invalid; }
  void setAccessPermission(Addr addr, State state) { }
  void functionalRead(Addr addr, Packet *pkt) { }
  int functionalWrite(Addr addr, Packet *pkt) { return 0; }
  Tick clockEdge();
  in_port(request_in, RequestMsg, requestIn) {
    if (request_in.isReady(clockEdge())) {
      peek(request_in, RequestMsg) {
        trigger(Event:Request, in_msg.addr);
      }
    }
  }
  action(pop) { request_in.dequeue(clockEdge()); }
  transition(I, Request) { pop; }
}
"""


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_system_drives_all(name: str) -> None:
    loaded = load_protocol(name)
    assert undriven(loaded.info, loaded.description) == []


def test_a_run_says_which_machine_it_does_not_drive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "MI.toml"
    path.write_text(ONLY_PROCESSORS)
    assert run(RunOptions(protocol="MI", system=path, episodes=30, seed=1, quiet=True)) == 0
    assert capsys.readouterr().out.endswith("; without DMA: the description has no agents there\n")


def test_a_run_says_which_machine_did_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No other machine sends it anything."""
    for text in PROTOCOLS.glob("MI*.*"):
        (tmp_path / text.name).write_bytes(text.read_bytes())
    (tmp_path / "L3.sm").write_text(BYSTANDER, encoding="utf-8")
    driver = tmp_path / "MI.slicc"
    driver.write_text(f'{driver.read_text(encoding="utf-8")}include "L3.sm";\n')
    assert run(RunOptions(protocol=str(driver), episodes=30, seed=1, quiet=True)) == 0
    assert capsys.readouterr().out.endswith("; without L3Cache: no transition was executed there\n")


def told_to_say_evictions(directory: Path) -> LoadedProtocol:
    """MSI, whose cache says that a line is gone only where a parameter says so, as gem5's do."""
    for path in (shipped()["MSI"], *DIRECTORY.glob("MSI*.sm")):
        shutil.copy(path, directory)
    cache = directory / "MSI-cache.sm"
    text = cache.read_text()
    for old, new in (
        ("    Sequencer * sequencer;\n", "    Sequencer * sequencer;\n    bool send_evictions;\n"),
        (EVICTION, f"if (send_evictions) {{ {EVICTION} }}"),
    ):
        assert old in text
        text = text.replace(old, new)
    cache.write_text(text)
    return load_protocol(str(directory / "MSI.slicc"))


def test_who_is_not_told_of_evictions_keeps_no_value_and_no_reservation(tmp_path: Path) -> None:
    """With `send_evictions` false a right protocol was said to keep old values."""
    protocol = told_to_say_evictions(tmp_path)
    path = "machine.L1Cache.parameters.send_evictions"
    for said in (True, False):
        options = Options(1, 3000, assignments={} if said else {path: False})
        plans = [Campaign(protocol, options).plan(number) for number in range(24)]
        drawn = [plan.leg.description for plan in plans]
        for description in drawn:
            assert description.machines["L1Cache"].parameters["send_evictions"] is said
        processors = [description.requesters["cpu"] for description in drawn]
        assert any(each.ahead for each in processors) == said
        assert any(each.atomics == "linked" for each in processors) == said


def test_processors_that_only_store_drive_evictions_of_dirty_lines_alone() -> None:
    """In gem5's pairs of cores a clean victim is lost, and any load may leave one."""
    without = {"agents.cpu.without": ("loads", "instructions")}
    campaign = Campaign(load_protocol("MSI"), Options(1, 4_000, assignments=without))
    for number in range(12):
        leg = campaign.plan(number).leg
        assert leg.description.requesters["cpu"].atomics == "line", "others begin with a load"
        assert campaign.run_leg(leg)[1] is None
    cache = campaign.coverage.machines["L1Cache"]
    missed = cache.missed()
    assert ("M", "Replacement") not in missed
    loads = [(state, event) for state, event in missed if event == "Load"]
    number = cache.events.index("Load")
    assert len(loads) == sum(event == number for _, event in cache.counts)


def test_wavefronts_that_only_read_keep_to_their_sizes() -> None:
    """They had any size and place, as other readers, which a coalescer refuses."""
    loaded = load_protocol("GPU_VIPER")
    quiet = loaded.description.override({"agents.gpu.without": ("stores",)})
    able = abilities(loaded.accepted, quiet)
    assert able["gpu"].longest == 0 < able["instructions"].longest
