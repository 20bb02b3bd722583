"""The ways in which processors do atomic operations, drawn for what a machine knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.campaign.engine_diff import first_difference
from tests.planted.run import fast_engine
from tests.sampling import sampled
from tests.tester.native.equality import native_engine

EVENTS = """    Far,            desc="An operation comes along";
    Store,          desc="""
STATES = """    IF,  AccessPermission:Busy,       desc="Asked for, to operate on";
    IM,  AccessPermission:Busy"""
ENTRY = """    WriteMask Op, desc="What is to be done";
    State CacheState, desc="""
PORT = """        } else if (in_msg.Type == RubyRequestType:ATOMIC_RETURN) {
          trigger(Event:Far, in_msg.LineAddress, cache_entry, tbe);
        } else if (in_msg.Type == RubyRequestType:ATOMIC_NO_RETURN) {
          trigger(Event:Far, in_msg.LineAddress, cache_entry, tbe);
        } else {
          trigger(Event:Store, in_msg"""
ROWS = """  action(op_noteOperation, "op", desc="Note what is to be done") {
    peek(mandatoryQueue_in, RubyRequest) {
      cache_entry.Op.clear();
      cache_entry.Op.orMask(in_msg.writeMask);
    }
  }

  action(of_operate, "of", desc="Do it") {
    DataBlock old;
    old := cache_entry.DataBlk;
    cache_entry.DataBlk.atomicPartial(cache_entry.DataBlk, cache_entry.Op);
    cache_entry.DataBlk.clearAtomicLogEntries();
    sequencer.atomicCallback(address, old);
  }

  transition(M, Far) {
    op_noteOperation;
    of_operate;
    m_popMandatoryQueue;
  }

  transition(I, Far, IF) {
    i_allocateFrame;
    op_noteOperation;
    a_issueGetx;
    m_popMandatoryQueue;
  }

  transition(IF, Data, M) {
    u_writeDataToFrame;
    of_operate;
    n_popResponse;
    k_wakeWaiting;
  }

  transition(IF, Fwd_GETX) {
    z_waitForward;
  }

  transition({IF}, Replacement) {
    z_waitMandatory;
  }

  transition({MI, II, MII}, Far) {
    z_waitMandatory;
  }

  // --- hits
"""
FAR_MI = (
    ("    Store,          desc=", EVENTS),
    ("    IM,  AccessPermission:Busy", STATES),
    ("    State CacheState, desc=", ENTRY),
    ("        } else {\n          trigger(Event:Store, in_msg", PORT),
    ("  // --- hits\n", ROWS),
)
NAMES = {"linked": "load-linked", "far": "far atomics"}


@pytest.fixture(scope="module")
def far_mi(tmp_path_factory: pytest.TempPathFactory) -> LoadedProtocol:
    """MI whose caches take operations along."""
    directory = tmp_path_factory.mktemp("far")
    for path in DIRECTORY.glob("MI*"):
        text = path.read_text()
        if path.name == "MI-cache.sm":
            for old, new in FAR_MI:
                assert text.count(old) == 1, old
                text = text.replace(old, new)
        (directory / path.name).write_text(text)
    return load_protocol(str(directory / "MI.slicc"), native=True)


def test_what_the_machines_know(far_mi: LoadedProtocol) -> None:
    assert far_mi.accepted["cpu"].ways == {"line", "linked", "far"}
    assert load_protocol("MSI").accepted["cpu"].ways == {"line", "linked"}
    assert load_protocol("GPU_VIPER").accepted["gpu"].ways == {"line"}


def test_without_evictions_there_is_no_load_linked(tmp_path: Path) -> None:
    for path in DIRECTORY.glob("MI*"):
        text = path.read_text().replace("    sequencer.evictionCallback(address);\n", "")
        (tmp_path / path.name).write_text(text)
    assert load_protocol(str(tmp_path / "MI.slicc")).accepted["cpu"].ways == {"line"}


def campaign(protocol: LoadedProtocol, way: str, episodes: int = 400) -> Campaign:
    options = Options(3, episodes, fixed={"atomics": way})
    return Campaign(protocol, options, fast_engine(protocol))


@pytest.mark.parametrize(
    ("name", "way"), sampled([("far", "far"), ("MSI", "linked"), ("far", "linked")], 3)
)
def test_both_engines_run_them_alike(name: str, way: str, far_mi: LoadedProtocol) -> None:
    protocol = far_mi if name == "far" else load_protocol(name, native=True)
    native = native_engine(protocol).native
    assert native is not None
    for number in range(3):
        plan = campaign(protocol, way).plan(number)
        assert plan.leg.description.requesters["cpu"].atomics == way
        assert any(NAMES[way] in line for line in plan.summary.details)
        assert first_difference(protocol, native, plan.leg) is None


def test_far_operations_are_executed(far_mi: LoadedProtocol) -> None:
    run = campaign(far_mi, "far")
    for plan in run.plans():
        _, finding = run.run_leg(plan.leg)
        assert finding is None, finding
    missed = run.coverage.machines["L1Cache"].missed()
    assert ("M", "Far") not in missed and ("IF", "Data") not in missed
