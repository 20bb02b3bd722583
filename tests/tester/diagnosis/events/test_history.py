"""What a history records: messages and who took them, copies of bytes, causes, repetitions."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.loader import LoadedProtocol, load_protocol
from runtime.system.builder import build_system
from runtime.system.system import System
from runtime.types.atomic_op import AtomicKind, AtomicOp
from runtime.types.message import kind_of
from runtime.types.messages import MemoryMsg, MemoryRequestType, MessageSizeType, RubyRequest
from runtime.types.values import DataBlock, WriteMask
from slicc.cli.options import NewOptions
from slicc.cli.verbs.new import new
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.diagnosis.events.history import History
from tester.diagnosis.events.line_events import AtPort, Sent, Transition
from tester.diagnosis.events.message_text import details_of, mask_text
from tester.diagnosis.events.system_inspection import entry_of, state_of
from tester.diagnosis.failure_report import Failure, render
from tester.execution.events import Verdict
from tester.execution.leg import LegRun
from tests.planted.bugs import BY_NAME
from tests.sampling import sampled
from tests.tester.profiles.test_machine_roles import told_to_say_evictions


def test_a_message_says_what_its_sender_set() -> None:
    message = MemoryMsg()
    message.addr = 0x40
    message.Type = MemoryRequestType.MEMORY_READ
    message.MessageSize = MessageSizeType.Request_Control
    assert (kind_of(message), details_of(message)) == ("MEMORY_READ", "")
    message.Acks = 2
    message.DataBlk = DataBlock()
    assert details_of(message) == "Acks=2 with data"
    assert "Type=MEMORY_READ" in repr(message)
    assert kind_of(RubyRequest()) == "NULL"


def history_of_a_leg(name: str, **held: int) -> tuple[System, History]:
    protocol = load_protocol(name)
    options = Options(1, 40, "coherence", leg_episodes=40, assignments=held)
    leg = Campaign(protocol, options).plan(0).leg
    system = build_system(protocol.info, leg.description, leg.run_key)
    lines = sorted({int(a) & -64 for a in leg.program.lane_address.flat if a >= 0})[:2]
    history = History(lines, leg.program.line_size)
    for controller in system.controllers:
        controller.observer = history.transition
    history.watch(system)
    leg_run(leg, system, (history,)).run()
    return system, history


@pytest.mark.parametrize("name", ["MI", "GPU_VIPER"])
def test_whatever_is_taken_was_sent(name: str) -> None:
    """Every message has a row of its own before the transition that names it, to that receiver."""
    _, history = history_of_a_leg(name)
    under_way: dict[tuple[int, str, str, str], int] = {}
    taken = 0
    for event in history.events:
        if isinstance(event, Sent):
            for receiver in event.receivers:
                key = (
                    event.line,
                    event.kind,
                    event.who,
                    event.who if receiver == "itself" else receiver,
                )
                under_way[key] = under_way.get(key, 0) + 1
        elif isinstance(event, Transition):
            for message in event.messages:
                kind, found, sender = message.partition(" from ")
                if found:
                    taken += 1
                    key = event.line, kind, sender, event.who
                    assert under_way.get(key, 0) > 0, event
                    under_way[key] -= 1
    assert taken > 20
    assert not [key for key, left in under_way.items() if left and key[3] != "memory"]


@pytest.mark.parametrize("name", ["MI", "GPU_VIPER"])
def test_causes_come_before_their_effects(name: str) -> None:
    """A message was sent by the transition before it, a transition took what was sent to it, an
    answer was given by a transition; the numbers of causes say so."""
    _, history = history_of_a_leg(name)
    events = {event.number: event for event in history.events}
    assert list(events) == sorted(events)
    for event in events.values():
        assert all(cause < event.number for cause in event.causes)
        causes = [events[cause] for cause in event.causes if cause in events]
        if isinstance(event, Sent) and event.who != "memory":
            assert all(isinstance(c, Transition) and c.who == event.who for c in causes)
        if isinstance(event, Transition):
            sent = [c for c in causes if isinstance(c, Sent)]
            assert all(event.who in c.receivers or "itself" in c.receivers for c in sent)
            assert len(sent) >= sum(" from " in message for message in event.messages)
        if isinstance(event, AtPort) and event.step != "issued":
            assert all(isinstance(c, Transition) for c in causes)
    answers = [e for e in events.values() if isinstance(e, AtPort) and e.step != "issued"]
    assert sum(bool(e.causes) for e in answers) > 0.9 * len(answers)


def test_a_message_on_a_link_is_its_sender_s(tmp_path: Path) -> None:
    """Buffers without a virtual network lead straight to another machine, which is named."""
    new(NewOptions(name="Lend", output=tmp_path))
    for file in ("Lend-cache.sm", "Lend-dir.sm"):
        text = (tmp_path / file).read_text()
        text, links = re.subn(r', virtual_network="\d", vnet_type="\w+"', "", text)
        assert links == 2
        (tmp_path / file).write_text(text)
    _, history = history_of_a_leg(str(tmp_path / "Lend.slicc"), **{"machine.L1Cache.count": 1})
    ways = {(e.who, *e.receivers) for e in history.events if isinstance(e, Sent)}
    assert ways == {
        ("L1Cache 0", "Directory 0"),
        ("Directory 0", "L1Cache 0"),
        ("Directory 0", "memory"),
        ("memory", "Directory 0"),
    }
    taken = {m for e in history.events if isinstance(e, Transition) for m in e.messages}
    assert {"GET from L1Cache 0", "DATA from Directory 0"} <= taken


def failure_of(bug: str, directory: Path, profile: str, said: str = "") -> Failure:
    """How the Python engine fails on a planted bug under one profile, on the first seed on which
    the verdict says so."""
    return failure_in(load_protocol(str(BY_NAME[bug].plant(directory))), profile, said)


def failure_in(protocol: LoadedProtocol, profile: str, said: str = "") -> Failure:
    """The first failure of a protocol under one profile of which the verdict says so."""
    for seed in range(1, 9):
        campaign = Campaign(protocol, Options(seed, 300, profile))
        for plan in campaign.plans():
            run, finding = campaign.run_leg(plan.leg)
            if finding is not None and isinstance(run, LegRun):
                kind = (
                    finding.verdict.value if run.outcome.error is None else run.outcome.error.kind
                )
                if said in str(kind):
                    return campaign.explain(plan.leg, run, finding)
                break
    raise AssertionError(f"no failure of {protocol.identity.name} is found")


def test_a_wait_for_another_line_shows_that_line(tmp_path: Path) -> None:
    """Requests wait for an eviction that is over: the report follows them to the evicted line, and
    looking again and again at what waits is one row."""
    failure = failure_of("msi-eviction-wakes-nothing", tmp_path, "set-conflict")
    assert failure.history.lines is not None
    assert len(failure.history.lines) > 1
    text = render(failure)
    assert re.search(r"stalled in L1Cache\d.mandatoryQueue until line 0x\w+ is woken up", text)
    assert re.search(r"PutAck on PutAck from Directory \d .*MSI-cache.sm:\d+", text)
    waits = [e for e in failure.history.events if isinstance(e, Transition) and e.times > 1]
    assert waits
    for event in waits:
        assert event.state == event.next_state
        assert f"{event.times} times until {event.until:,}" in event.what


def test_the_row_after_which_the_expected_bytes_are_nowhere(tmp_path: Path) -> None:
    failure = failure_of("msi-line-asked-back-is-lost", tmp_path, "hot-ping-pong")
    gone = [event for event in failure.history.events if event.last_copy]
    assert gone
    assert "^ no copy of the expected bytes is left" in render(failure)
    seen = [e.number for e in failure.history.events if " expected]" in e.what + e.change]
    assert seen
    assert max(seen) <= gone[-1].number, "the bytes were seen after they were gone"
    failure.suspects = ["1. what neighbours suggest"]
    first = render(failure).partition("\nsuspect\n")[2].lstrip()
    assert re.match(
        r"no copy of the expected bytes is left after \w+\.\w+\.\w+ \[MSI-\w+\.sm:\d+\]", first
    )


def test_bytes_that_are_there_in_the_end_were_never_gone(tmp_path: Path) -> None:
    """A processor's store was said to be the last copy of its bytes, which it takes from the queue
    of its requests before the line has come."""
    protocol = told_to_say_evictions(tmp_path)
    campaign = Campaign(protocol, Options(1, 4000, "coherence", leg_episodes=40))
    for number in range(4, 12):
        leg = campaign.plan(number).leg
        silent = leg.description.override({"machine.L1Cache.parameters.send_evictions": False})
        leg = replace(leg, description=silent)
        run, finding = campaign.run_leg(leg)
        if finding is None or "the value was kept" not in finding.headline:
            continue
        assert isinstance(run, LegRun)
        events = campaign.with_history(leg, run, finding).history.events
        held = [each.number for each in events if " expected]" in each.change]
        assert held
        assert not [each for each in events if each.last_copy and each.number < held[-1]]
        return
    raise AssertionError("no leg fails")


def test_a_port_that_fails_names_its_message(tmp_path: Path) -> None:
    text = render(
        failure_of("mesi-writer-does-not-wait-for-readers", tmp_path, "line-duel", "NULL")
    )
    assert "null_dereference" in text
    assert re.search(r"\n  on ACK from L1Cache \d+ for line 0x\w+, sent at [\d,]+ \(", text)
    assert re.search(r"response_in_poll on ACK from L1Cache \d+ .* FAILED", text)


def test_a_missing_pair_says_where_its_event_is_handled(tmp_path: Path) -> None:
    text = render(failure_of("mi-late-putx-not-expected", tmp_path, "set-conflict", "UNDEFINED"))
    assert "PUTX_NotOwner is handled in I, M," in text
    assert re.search(r"\bMI handles \w+", text)
    assert re.search(r"PUTX_NotOwner on PUTX from L1Cache \d+ .*UNDEFINED", text)


def test_a_port_that_goes_on_behind_a_trigger_in_vain_says_so(tmp_path: Path) -> None:
    """The victim's row stalls, and what stands behind the trigger finds no frame."""
    for file in DIRECTORY.glob("MSI[-.]*"):
        shutil.copy(file, tmp_path)
    cache = tmp_path / "MSI-cache.sm"
    text = cache.read_text()
    for old, new_text in (
        (
            "getCacheEntry(victim));\n        } else if",
            "getCacheEntry(victim));\n        }\n        if",
        ),
        ("Replacement) {\n    zm_waitMandatory;", "Replacement) {\n    z_stall;"),
        ("  action(kw_wake", '  action(z_stall, "z", desc="Stall") { }\n\n  action(kw_wake'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new_text)
    cache.write_text(text)
    failure = failure_in(load_protocol(str(tmp_path / "MSI.slicc")), "set-conflict")
    said = " ".join(render(failure).split())
    assert re.search(
        r"before that, the same in-port triggered Replacement in \w+, which was held back "
        r"\(`z_stall`\), and went on with what stands behind that trigger \[MSI-cache.sm:\d+\]",
        said,
    )


def test_a_leak_shows_the_line_that_is_left(tmp_path: Path) -> None:
    failure = failure_of("mesi-giving-up-leaves-a-transaction", tmp_path, "line-duel", "leak")
    assert failure.finding.verdict is Verdict.LEAK
    lines = sorted(failure.history.lines or ())
    assert lines
    assert f"history of {', '.join(f'line {line:#x}' for line in lines)}" in render(failure)


def test_a_multicast_is_one_row() -> None:
    _, history = history_of_a_leg("MSI")
    multicasts = [row.what for row in history.events if row.what.startswith("sends Inv to ")]
    assert any(", L1Cache " in what for what in multicasts), multicasts


def test_a_run_is_the_same_with_and_without_the_rows() -> None:
    protocol = load_protocol("MI")
    leg = Campaign(protocol, Options(1, 40, "coherence", leg_episodes=40)).plan(0).leg
    plain = build_system(protocol.info, leg.description, leg.run_key)
    leg_run(leg, plain).run()
    watched, _ = history_of_a_leg("MI")
    assert watched.engine.now == plain.engine.now
    assert [c.counts for c in watched.controllers] == [c.counts for c in plain.controllers]


def test_the_state_of_a_line_needs_no_name_of_a_function(tmp_path: Path) -> None:
    """The machine finds its entry with a function that no other protocol has."""
    source = BY_NAME["mi-late-order-wakes-nothing"].plant(tmp_path)
    for path in tmp_path.glob("*.sm"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("getCacheEntry", "whatIsKept"), encoding="utf-8")
    assert "whatIsKept" in (tmp_path / "MI-cache.sm").read_text(encoding="utf-8")
    protocol = load_protocol(str(source))
    leg = Campaign(protocol, Options(1, 30, "coherence", leg_episodes=30)).plan(0).leg
    system = build_system(protocol.info, leg.description, leg.run_key)
    leg_run(leg, system).run()
    held = [
        (controller, line)
        for controller in system.controllers
        for cache in controller.caches()
        for line in cache.visible
    ]
    assert held
    for controller, line in held:
        assert entry_of(controller, line) is not None
        assert state_of(controller, line) not in ("", "I"), line


LOST = "stalled, but nothing holds the line back: lost wake-up?"


@pytest.mark.parametrize(
    ("bug", "profile", "lost"),
    sampled(
        [
            ("mesi-unblocking-wakes-nothing", "hot-ping-pong", True),
            ("msi-eviction-wakes-nothing", "set-conflict", True),
            ("msi-overtaken-upgrade-acknowledges-nothing", "line-duel", False),
            ("mesi-late-victim-is-never-answered", "hot-ping-pong", False),
        ],
        2,
    ),
)
def test_only_a_lost_wake_up_is_called_so(
    bug: str, profile: str, lost: bool, tmp_path: Path
) -> None:
    """A second level of MESI_Two_Level holds lines by its states alone, without transactions."""
    text = render(failure_of(bug, tmp_path, profile, "hang"))
    assert " stalled in " in text
    assert (LOST in text) is lost


def test_masks_are_short() -> None:
    add = AtomicOp(AtomicKind.ADD, 1)
    mask = WriteMask((1 << 32) - 1 << 320, ((40, add),) * 5)
    assert mask_text(mask) == "40..43 (40 ADD 1, 40 ADD 1, 3 more)"
    assert mask_text(WriteMask(0xFF00FF)) == "0,2"
