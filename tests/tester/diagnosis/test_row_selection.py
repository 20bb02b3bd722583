"""Which events of a history a report shows."""

from __future__ import annotations

from tester.diagnosis.events.line_events import Event, Sent, Transition
from tester.diagnosis.row_selection import choose, gaps


def transition(number: int, who: str, *causes: int, event: str = "e", after: str = "s") -> Event:
    return Transition(
        tick=number,
        number=number,
        who=who,
        event=event,
        state="s",
        next_state=after,
        causes=list(causes),
    )


def unrelated(count: int, first: int = 0) -> list[Event]:
    """Transitions of one controller, each in the state that the one before left."""
    return [
        transition(n, "A", *([n - 1] if n > first else [])) for n in range(first, first + count)
    ]


def test_what_fits_is_shown_whole() -> None:
    assert choose(unrelated(30), 30, []) == list(range(30))
    assert gaps(range(30)) == [0] * 30


def test_the_end_is_always_there_and_the_limit_is_kept() -> None:
    events = unrelated(500)
    for limit in (1, 5, 24, 40, 64):
        chosen = choose(events, limit, [events[100]])
        assert len(chosen) == limit
        assert chosen == sorted(set(chosen))
        end = min(limit, 6)
        assert chosen[-end:] == list(range(500 - end, 500))


def test_a_cause_comes_before_what_merely_happened_in_between() -> None:
    """B sent a message; much later, after 400 transitions of A, C takes it and fails."""
    events = [
        transition(0, "B"),
        Sent(tick=0, number=1, who="B", kind="GETX", causes=[0]),
        *unrelated(400, first=2),
        transition(402, "C", 1, after="t"),
    ]
    assert choose(events, 12, [events[-1]])[:2] == [0, 1]
    assert choose(events, 12, [])[:2] != [0, 1]


def test_what_came_of_an_origin_is_shown() -> None:
    events = [
        transition(0, "B"),
        Sent(tick=0, number=1, who="B", kind="GETX", causes=[0]),
        transition(2, "C", 1, after="t"),
        *unrelated(400, first=3),
    ]
    assert choose(events, 12, [], [events[0]])[:3] == [0, 1, 2]


def test_what_happens_once_is_nearer_than_what_happens_all_the_time() -> None:
    """Two ways lead to the failure: a transition of which there are hundreds, and a rare one."""
    events = [
        transition(0, "A"),
        transition(1, "B", event="race"),
        *unrelated(300, first=2),
        transition(302, "C", 0, 1, after="t"),
        *unrelated(6, first=303),
    ]
    assert choose(events, 8, [events[302]])[:2] == [1, 302]


def test_gaps_say_how_much_is_left_out() -> None:
    assert gaps([2, 3, 7]) == [2, 0, 3]
    assert gaps([]) == []
