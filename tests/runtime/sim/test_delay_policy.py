"""Scripted delays: which message they delay, and that every drawn run has a script."""

from __future__ import annotations

import pytest

from runtime.sim.delay_policy import DRAWN_POLICIES, DelayPolicy, ScriptedDelay
from runtime.types.message import Message


class Note(Message):
    LINE_FIELD = "addr"
    addr: int = 0


class Signal(Message):
    LINE_FIELD = None


def note(line: int) -> Note:
    message = Note()
    message.addr = line
    return message


SCRIPT = [
    ScriptedDelay("here->there", 0x40, 2, 30),
    ScriptedDelay("here->there", 0, 1, 7),
    ScriptedDelay("here->elsewhere", 0x40, 1, 5),
]


def test_a_script_delays_the_messages_that_it_names() -> None:
    policy = DelayPolicy("scripted", 1, script=SCRIPT)
    here = policy.channel("here->there")
    assert here is not None
    assert [here.next(note(line)) for line in (0x40, 0x80, 0x44, 0x40, 0x80)] == [0, 0, 30, 0, 0]
    assert [here.next(Signal()), here.next(Signal())] == [7, 0]
    assert policy.channel("there->here") is None
    elsewhere = policy.channel("here->elsewhere")
    assert elsewhere is not None
    assert elsewhere.next(note(0x40)) == 5
    assert policy.sent()[0] == ScriptedDelay("here->elsewhere", 0x40, 1, 5)
    assert policy.sent()[-1] == ScriptedDelay("here->there", 0x80, 2, 0)
    assert len(policy.sent()) == 8


@pytest.mark.parametrize("name", DRAWN_POLICIES)
def test_what_was_drawn_is_a_script_of_the_same_delays(name: str) -> None:
    drawing = DelayPolicy(name, 3)
    lines = [0x40 * (number * number % 5) for number in range(60)]
    channels = {each: drawing.channel(each) for each in ("a->b", "c")}
    drawn = [channel.next(note(at)) for channel in channels.values() if channel for at in lines]
    script = drawing.drawn()
    assert sum(delay.cycles for delay in script) == sum(drawn)
    scripted = DelayPolicy("scripted", 99, script=script)
    again = [scripted.channel(each) for each in channels]
    assert drawn == [channel.next(note(at)) for channel in again if channel for at in lines]
    assert (name == "nominal") == (not script)
