"""Rows about messages: what each says, who sent it, which transition took it."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import load_protocol
from runtime.system.system import System, build_system
from runtime.types.message import kind_of
from runtime.types.messages import MemoryMsg, MemoryRequestType, MessageSizeType, RubyRequest
from runtime.types.values import DataBlock
from tester.campaign.campaign import Campaign, Options, leg_run
from tester.diagnosis.history import History
from tester.diagnosis.message_text import details_of
from tester.diagnosis.system_inspection import entry_of, state_of
from tests.planted.bugs import BY_NAME


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


def history_of_a_leg(name: str) -> tuple[System, History]:
    protocol = load_protocol(name)
    leg = Campaign(protocol, Options(1, 40, "coherence", leg_episodes=40)).plan(0).leg
    system = build_system(protocol.info, leg.description, leg.run_key)
    lines = sorted({int(a) & -64 for a in leg.program.lane_address.flat if a >= 0})[:2]
    history = History(lines, leg.program.line_size)
    for controller in system.controllers:
        controller.observer = history.transition
    history.watch_messages(system)
    leg_run(leg, system, (history,)).run()
    return system, history


@pytest.mark.parametrize("name", ["MI", "GPU_VIPER"])
def test_whatever_is_taken_was_sent(name: str) -> None:
    """Every message has a row of its own before the transition that names it, to that receiver."""
    _, history = history_of_a_leg(name)
    under_way: dict[tuple[int, str, str, str], int] = {}
    taken = 0
    for row in history.rows:
        if row.what.startswith("sends "):
            kind, _, rest = row.what.removeprefix("sends ").partition(" to ")
            for receiver in rest.partition(": ")[0].partition(", vnet")[0].split(", "):
                key = row.line, kind, row.who, row.who if receiver == "itself" else receiver
                under_way[key] = under_way.get(key, 0) + 1
        for part in row.what.split(" on ")[1:]:
            kind, found, sender = part.partition(" from ")
            if found:
                taken += 1
                key = row.line, kind, sender, row.who
                assert under_way.get(key, 0) > 0, row
                under_way[key] -= 1
    assert taken > 20
    assert not [key for key, left in under_way.items() if left and key[3] != "memory"]


def test_a_multicast_is_one_row() -> None:
    _, history = history_of_a_leg("MSI")
    multicasts = [row.what for row in history.rows if row.what.startswith("sends Inv to ")]
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
