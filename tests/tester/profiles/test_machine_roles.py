"""Which machines of a system stand by."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from protocols.loader import load_protocol
from tester.cli.options.run import RunOptions
from tester.cli.verbs.run import run
from tester.profiles.machine_roles import undriven
from tests.planted.bug import PROTOCOLS

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
