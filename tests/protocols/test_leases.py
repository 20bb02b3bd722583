"""A protocol of total store order whose copies stay readable for a while: leases, and timestamps.

MI is rewritten so that a cache which forwards its line keeps a copy under a lease. Loads may hit it
until the lease is over, or until any line comes: a timestamp counts those, and a copy from before
the last one is out of date. So loads see stores of others late but never out of order. An agent
that takes a byte over must have received a line since it was stored: the hand-over's fetch-add sees
to that, and completion alone does not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign, Options
from tester.engines.selection import PYTHON
from tester.execution.early_loads import EarlyRule
from tester.execution.handover import HandoverRules
from tests.planted.run import fast_engine

# Each pair is a place in MI-cache.sm and what stands there instead; @@ is the place itself.
CACHE = (
    (
        """    M,   AccessPermission:Read_Write, desc="Here: the only copy";
""",
        """@@    L,   AccessPermission:Read_Only,  desc="A copy under a lease";
""",
    ),
    (
        """    Load,           desc="The processor loads";
""",
        """@@    Expire,         desc="A request finds a copy that it may not use";
""",
    ),
    (
        """    DataBlock DataBlk, desc="The line";
  }
""",
        """    DataBlock DataBlk, desc="The line";
    int Stamp, default="0", desc="How many lines had come";
    Cycles Until, desc="End of the lease";
  }
  int lines, default="0";
  Cycles curCycle();
  Cycles intToCycles(int c);
  bool isOver(Entry copy, RubyRequestType type) {
    return copy.CacheState == State:L && (type == RubyRequestType:ST
      || copy.Stamp < lines || copy.Until < curCycle());
  }
""",
    ),
    (
        """        } else if (in_msg.Type == RubyRequestType:LD) {
""",
        """        } else if (is_valid(cache_entry) && isOver(cache_entry, in_msg.Type)) {
          trigger(Event:Expire, in_msg.LineAddress, cache_entry, tbe);
@@""",
    ),
    ("transition(M, {Load, Ifetch}) {", "transition({M, L}, {Load, Ifetch}) {"),
    (
        """  transition(M, Fwd_GETX, I) {
    d_sendDataFromCache;
    j_freeFrame;
    o_popForward;
  }
""",
        """  transition(M, Fwd_GETX, L) {
    d_sendDataFromCache;
    l_lease;
    o_popForward;
  }
  transition(L, {Expire, Replacement}, I) { j_freeFrame; }
""",
    ),
    (
        """  action(u_writeDataToFrame,""",
        """  action(l_lease, "l", desc="Keep the copy for a while") {
    cache_entry.Stamp := lines;
    cache_entry.Until := curCycle() + intToCycles(200);
  }
  action(t_count, "t", desc="A line has come: leases end") { lines := lines + 1; }
@@""",
    ),
    ("    u_writeDataToFrame;\n", "@@    t_count;\n"),
)
SYSTEM = """
[machine.L1Cache]
count = 4
[machine.Directory]
count = 2
[machine.DMA]
count = 0
[requester.cpu]
machine = "L1Cache"
[agents.cpu]
requester = "cpu"
without = ["bare"]
"""


def leases(directory: Path, without: str = '"bare"', counted: bool = True) -> LoadedProtocol:
    for path in DIRECTORY.glob("MI*"):
        (directory / path.name).write_bytes(path.read_bytes())
    file = directory / "MI-cache.sm"
    text = file.read_text(encoding="utf-8")
    for old, new in CACHE if counted else CACHE[:-1]:
        assert old in text, old
        text = text.replace(old, new.replace("@@", old))
    file.write_text(text, encoding="utf-8")
    system = SYSTEM.replace('"bare"', without)
    (directory / "MI.toml").write_text(system, encoding="utf-8")
    return load_protocol(str(directory / "MI.slicc"), native=True)


def failing(protocol: LoadedProtocol, engine: object, legs: int) -> list[int]:
    campaign = Campaign(protocol, Options(1, 100_000), engine)  # type: ignore[arg-type]
    numbers = range(legs)
    return [n for n in numbers if campaign.run_leg(campaign.plan(n).leg)[1] is not None]


def test_leases_pass(tmp_path: Path) -> None:
    protocol = leases(tmp_path)
    native = fast_engine(protocol)
    assert failing(protocol, native, 16) == []
    assert failing(protocol, PYTHON, 1) == []
    rules = HandoverRules.of(protocol.description, ["cpu"])
    assert rules.steps[0].early == EarlyRule.NEVER, "a racing load may return an old copy"


@pytest.mark.parametrize("what", ["by completion alone", "leases that do not end"])
def test_what_leases_do_not_allow_is_found(what: str, tmp_path: Path) -> None:
    if what == "by completion alone":
        protocol = leases(tmp_path, without="")
    else:
        protocol = leases(tmp_path, counted=False)
    assert failing(protocol, fast_engine(protocol), 12)
