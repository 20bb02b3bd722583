"""A protocol of total store order whose copies stay readable for a while: leases, and timestamps.

MI is rewritten so that a cache which forwards its line keeps a copy under a lease. Loads may hit it
until the lease is over, or until any line comes: a timestamp counts those, and a copy from before
the last one is out of date. So loads see stores of others late but never out of order. An agent
that takes a byte over must have received a line since it was stored: the hand-over's fetch-add sees
to that, and completion alone does not, unless the cache sees a fence: a field of the request that
the protocol's library adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from runtime.description import DescriptionError
from runtime.requesters.port import Access, Scope
from runtime.requesters.sequencer import Sequencer
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.campaign.engine_diff import first_difference
from tester.engines.selection import PYTHON
from tester.execution.agent import Agent, PendingAccess
from tester.execution.early_loads import EarlyRule
from tester.execution.events import Role
from tester.execution.handover import HandoverRules
from tester.program.program import PLAIN
from tests.planted.run import fast_engine
from tests.sampling import sampled

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
FENCE = (
    "        if (is_invalid(cache_entry) && is_invalid(tbe) && cacheMemory.cacheAvail",
    """        if (@seen) {
          lines := lines + 1;  // all leases end
        }
@@""",
)
LIBRARY = 'structure(RubyRequest) { bool isAcquire; bool isRelease; bool isPlain, default="true"; }'
FENCES = 'acquire_flag = "isAcquire"'
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


def leases(
    directory: Path,
    without: str = '"bare"',
    counted: bool = True,
    fences: str = "",
    seen: str = "isAcquire",
) -> LoadedProtocol:
    for path in DIRECTORY.glob("MI*"):
        (directory / path.name).write_bytes(path.read_bytes())
    file = directory / "MI-cache.sm"
    text = file.read_text(encoding="utf-8")
    for old, new in (*(CACHE if counted else CACHE[:-1]), FENCE):
        assert old in text, old
        text = text.replace(old, new.replace("@@", old).replace("@seen", f"in_msg.{seen}"))
    file.write_text(text, encoding="utf-8")
    (directory / "RubySlicc_Types.sm").write_text(LIBRARY, encoding="utf-8")
    system = SYSTEM.replace('"bare"', without).replace("[agents.cpu]", f"{fences}\n[agents.cpu]")
    (directory / "MI.toml").write_text(system, encoding="utf-8")
    return load_protocol(str(directory / "MI.slicc"), native=True)


def failing(protocol: LoadedProtocol, engine: object, legs: int) -> Iterator[int]:
    campaign = Campaign(protocol, Options(1, 100_000), engine)  # type: ignore[arg-type]
    numbers = range(legs)
    return (n for n in numbers if campaign.run_leg(campaign.plan(n).leg)[1] is not None)


def test_leases_pass(tmp_path: Path) -> None:
    protocol = leases(tmp_path)
    native = fast_engine(protocol)
    assert list(failing(protocol, native, 16)) == []
    assert list(failing(protocol, PYTHON, 1)) == []
    rules = HandoverRules.of(protocol.description, ["cpu"])
    assert rules.steps[0].early == EarlyRule.NEVER, "a racing load may return an old copy"


@pytest.mark.parametrize(
    ("flag", "seen"), sampled([("isAcquire", "isAcquire"), ("isPlain", "isPlain == false")], 2)
)
def test_a_fence_ends_leases(flag: str, seen: str, tmp_path: Path) -> None:
    """Without any fetch-add the cache knows of a hand-over by the mark on the request alone."""
    fences = f'acquire_flag = "{flag}"'
    protocol = leases(tmp_path, without='"atomics"', fences=fences, seen=seen)
    programs = [Campaign(protocol, Options(1, 100_000)).plan(n).leg.program for n in range(6)]
    assert not any((program.episode_scope & PLAIN).any() for program in programs)
    native = fast_engine(protocol)
    assert list(failing(protocol, native, 12)) == []
    assert list(failing(protocol, PYTHON, 1)) == []


def test_fences_are_the_first_and_the_last_action(tmp_path: Path) -> None:
    """The first is answered before the second is issued, and the last comes after all others."""
    protocol = leases(tmp_path, fences=f'{FENCES}\nrelease_flag = "isRelease"')
    leg = Campaign(protocol, Options(3, 60)).plan(1).leg
    system = build_system(protocol.info, leg.description, leg.run_key)
    run = leg_run(leg, system)
    marks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for requester in system.requesters:
        assert isinstance(requester, Sequencer)
        watch_issue(requester, marks)
    assert run.run().finding is None
    assert len(marks) > 20
    for episode in marks.values():
        fences = [fence for fence, _ in episode]
        last = len(fences) - 1
        assert [bool(fence & Scope.ACQUIRES) for fence in fences] == [True] + [False] * last
        assert [bool(fence & Scope.RELEASES) for fence in fences] == [False] * last + [True]
        alone = {0, min(1, last), last}
        assert [episode[place][1] for place in alone] == [1] * len(alone)


def watch_issue(requester: Sequencer, marks: dict[tuple[int, int], list[tuple[int, int]]]) -> None:
    """Note of each accepted action its fence, and how many accesses of the agent were under way."""
    issue = requester.issue

    def issued(access: Access) -> bool:
        assert isinstance(access, PendingAccess)
        request, client = access.request, access.client
        assert isinstance(client, Agent)
        under_way = client._outstanding  # with this one
        if not issue(access):
            return False
        if request.role == Role.ACTION:
            marks.setdefault((client.number, request.episode), []).append((access.fence, under_way))
        return True

    requester.issue = issued  # type: ignore[method-assign]


def test_engines_agree_on_fences(tmp_path: Path) -> None:
    protocol = leases(tmp_path, fences=f'{FENCES}\nrelease_flag = "isRelease"')
    engine = fast_engine(protocol)
    if engine.native is None:
        pytest.skip("no compiler")
    campaign = Campaign(protocol, Options(5, 10_000))
    for number in range(3):
        leg = campaign.plan(number).leg
        assert first_difference(protocol, engine.native, leg) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('acquire_flag = "isAquire"', "did you mean `isAcquire`"),
        ('release_flag = "Prefetch"', "isAcquire, isRelease"),
    ],
)
def test_unknown_flags_are_refused(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"MI\.toml:\d+: requester\.cpu\.\w+_flag") as caught:
        leases(tmp_path, fences=line)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "what", sampled(["by completion alone", "no fences", "leases that do not end"], 2)
)
def test_what_leases_do_not_allow_is_found(what: str, tmp_path: Path) -> None:
    if what == "by completion alone":
        protocol = leases(tmp_path, without="")
    elif what == "no fences":
        protocol = leases(tmp_path, without='"atomics"')
    else:
        protocol = leases(tmp_path, counted=False)
    assert next(failing(protocol, PYTHON, 12), None) is not None
