"""The checker on histories written by hand, and its fetch-add rule against brute force."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.requesters.port import AccessKind
from tester.execution.checker import Checker
from tester.execution.events import Request, Role, Verdict
from tester.program.program import QUIET

LINE = 64
WORD = 0x100
FIRST = 0xFFFFFFFE  # so that sums wrap around


class History:
    """Says what happened at the ports, one event per call."""

    def __init__(self) -> None:
        self.stops = 0
        self.checker = Checker(LINE, lambda address: FIRST, self._stop)
        self._identity = 0

    def _stop(self) -> None:
        self.stops += 1

    def issue(
        self,
        tick: int,
        kind: int,
        addresses: list[int],
        size: int = 4,
        expected: list[int] | None = None,
        agent: int = 0,
    ) -> Request:
        self._identity += 1
        role = Role.OPEN if kind == AccessKind.ATOMIC else Role.ACTION
        lanes = list(range(len(addresses)))
        ones = [1] * len(addresses)
        request = Request(
            self._identity, agent, 0, role, kind, lanes, addresses, size, ones, expected or []
        )
        request.issued = tick
        self.checker.issued(request, tick)
        return request

    def verdict(self) -> Verdict | None:
        return None if self.checker.finding is None else self.checker.finding.verdict


def block(**parts: int) -> int:
    """A line's data: ``block(b4=0x12345678)`` puts the bytes of a number at offset 4."""
    return sum(value << 8 * int(name[1:]) for name, value in parts.items())


# ------------------------------------------------------------------ loads and stores


def test_load_of_right_values_in_two_lines_passes() -> None:
    history = History()
    load = history.issue(10, AccessKind.LOAD, [0x104, 0x140], 4, [0x11223344, 0x55667788])
    history.checker.loaded(load, [1], 0x140, block(b0=0x55667788), 12)
    history.checker.loaded(load, [0], 0x100, block(b4=0x11223344), 15)
    assert history.checker.finish(15) is None


def test_every_byte_of_a_load_is_compared() -> None:
    for size in (1, 2, 4, 8):
        for byte in range(size):
            history = History()
            value = int.from_bytes(bytes(range(1, size + 1)), "little")
            load = history.issue(1, AccessKind.LOAD, [0x108], size, [value])
            history.checker.loaded(load, [0], 0x100, (value ^ 1 << 8 * byte) << 64, 2)
            finding = history.checker.finding
            assert finding is not None
            assert finding.verdict is Verdict.WRONG_VALUE
            assert (finding.address, finding.size) == (0x108, size)
            assert (finding.expected, finding.got) == (value, value ^ 1 << 8 * byte)


def test_bytes_beside_a_load_do_not_matter() -> None:
    history = History()
    load = history.issue(1, AccessKind.LOAD, [0x104], 2, [0xBEEF])
    history.checker.loaded(load, [0], 0x100, block(b0=0xFFFFFFFF, b4=0xBEEF, b6=0x77), 2)
    assert history.checker.finish(2) is None


def test_the_first_finding_stands_and_stops_once() -> None:
    history = History()
    first = history.issue(1, AccessKind.LOAD, [0x100], 4, [7])
    second = history.issue(1, AccessKind.LOAD, [0x104], 4, [8])
    history.checker.loaded(first, [0], 0x100, 0, 2)
    history.checker.loaded(second, [0], 0x100, 0, 3)
    assert history.checker.finding is not None
    assert history.checker.finding.address == 0x100
    assert history.stops == 1


def test_data_twice_is_unexpected() -> None:
    history = History()
    load = history.issue(1, AccessKind.LOAD, [0x100, 0x140], 4, [0, 0])
    history.checker.loaded(load, [0], 0x100, 0, 2)
    history.checker.loaded(load, [0], 0x100, 0, 3)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def test_data_from_another_line_is_unexpected() -> None:
    history = History()
    load = history.issue(1, AccessKind.LOAD, [0x100], 4, [0])
    history.checker.loaded(load, [0], 0x140, 0, 2)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def test_store_needs_acceptance_then_completion() -> None:
    history = History()
    store = history.issue(1, AccessKind.STORE, [0x100, 0x104])
    history.checker.accepted(store, [0, 1], 0x100, 2)
    assert history.checker.missing(store) == ([], [0, 1])
    history.checker.completed(store, [0, 1], 0x100, 9)
    assert history.checker.finish(9) is None


def test_completion_before_acceptance_is_unexpected() -> None:
    history = History()
    store = history.issue(1, AccessKind.STORE, [0x100])
    history.checker.completed(store, [0], 0x100, 2)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def test_completion_twice_is_unexpected() -> None:
    history = History()
    store = history.issue(1, AccessKind.STORE, [0x100])
    for tick in (2, 3):
        history.checker.accepted(store, [0], 0x100, 2) if tick == 2 else None
        history.checker.completed(store, [0], 0x100, tick)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def test_a_load_answered_as_a_store_is_unexpected() -> None:
    history = History()
    load = history.issue(1, AccessKind.LOAD, [0x100], 4, [0])
    history.checker.accepted(load, [0], 0x100, 2)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def test_release_before_completion_of_the_agents_own_store() -> None:
    history = History()
    store = history.issue(1, AccessKind.STORE, [0x100], agent=3)
    history.checker.accepted(store, [0], 0x100, 2)
    other = history.issue(3, AccessKind.RELEASE, [], agent=4)
    history.checker.synchronized(other, 4)
    assert history.verdict() is None
    release = history.issue(3, AccessKind.RELEASE, [], agent=3)
    history.checker.synchronized(release, 5)
    assert history.verdict() is Verdict.EARLY_RELEASE


# ------------------------------------------------------------------ time


def test_one_request_that_hangs_is_found_while_others_go_on() -> None:
    history = History()
    stuck = history.issue(1, AccessKind.LOAD, [0x1000], 4, [0])
    for tick in range(10, 1200, 10):
        other = history.issue(tick, AccessKind.LOAD, [0x100], 4, [0])
        history.checker.loaded(other, [0], 0x100, 0, tick + 5)
        if tick <= 1000:
            assert history.checker.overdue(tick + 5 if tick < 990 else 1000, 1000) is None
    finding = history.checker.overdue(1300, 1000)
    assert finding is not None
    assert finding.verdict is Verdict.HANG
    assert finding.request is stuck


def test_answers_from_the_same_line_restart_the_watchdog_but_not_for_ever() -> None:
    history = History()
    history.issue(0, AccessKind.LOAD, [0x100], 4, [0])
    for tick in range(0, 9_000, 100):
        other = history.issue(tick, AccessKind.LOAD, [0x104], 4, [0])
        history.checker.loaded(other, [0], 0x100, 0, tick + 50)
        assert history.checker.overdue(tick + 60, 1000) is None
    for tick in range(9_000, 12_000, 100):
        other = history.issue(tick, AccessKind.LOAD, [0x104], 4, [0])
        history.checker.loaded(other, [0], 0x100, 0, tick + 50)
    assert history.checker.overdue(12_000, 1000) is not None


def test_a_release_waits_as_long_as_its_stores_may() -> None:
    history = History()
    store = history.issue(0, AccessKind.STORE, [0x100], agent=1)
    history.checker.accepted(store, [0], 0x100, 5)
    history.issue(10, AccessKind.RELEASE, [], agent=1)
    # Others use the line of the store, which is slow and not stuck; later only another line.
    for tick in range(100, 4000, 100):
        other = history.issue(tick, AccessKind.LOAD, [0x104], 4, [0], agent=2)
        history.checker.loaded(other, [0], 0x100, 0, tick + 50)
        assert history.checker.overdue(tick + 60, 1000) is None
    for tick in range(4000, 4900, 100):
        other = history.issue(tick, AccessKind.LOAD, [0x1000], 4, [0], agent=2)
        history.checker.loaded(other, [0], 0x1000, 0, tick + 50)
    assert history.checker.overdue(4900, 1000) is None
    finding = history.checker.overdue(5000, 1000)
    assert finding is not None and finding.verdict is Verdict.HANG
    assert finding.request is store


def test_a_release_without_stores_is_a_hang_of_its_own() -> None:
    history = History()
    store = history.issue(0, AccessKind.STORE, [0x100], agent=1)
    release = history.issue(10, AccessKind.RELEASE, [], agent=2)
    history.checker.accepted(store, [0], 0x100, 900)
    history.checker.completed(store, [0], 0x100, 1005)
    finding = history.checker.overdue(1100, 1000)
    assert finding is not None and finding.request is release


def test_a_store_without_completion_is_a_hang() -> None:
    history = History()
    store = history.issue(1, AccessKind.STORE, [0x100])
    history.checker.accepted(store, [0], 0x100, 2)
    finding = history.checker.stuck(40)
    assert finding is not None
    assert finding.verdict is Verdict.HANG
    assert "completion of a store" in finding.headline


# ------------------------------------------------------------------ fetch-adds


def fetch_adds(*events: tuple[int, int, int, int]) -> Verdict | None:
    """(agent, issue tick, response tick, rank returned) of one-lane increments of one word.

    Rank -1: the increment is quiet.
    """
    history = History()
    requests: dict[int, Request] = {}
    timeline = sorted(
        [(issue, 0, number) for number, (_, issue, _, _) in enumerate(events)]
        + [(response, 1, number) for number, (_, _, response, _) in enumerate(events)]
    )
    for tick, is_response, number in timeline:
        agent, _, _, rank = events[number]
        if is_response:
            values = [(FIRST + rank) & 0xFFFFFFFF] if rank >= 0 else []
            history.checker.returned(requests[number], [0], values, tick)
        else:
            requests[number] = history.issue(tick, AccessKind.ATOMIC, [WORD], agent=agent)
            requests[number].scope = QUIET if rank < 0 else 0
    history.checker.finish(10_000)
    return history.verdict()


def test_increments_in_order_pass() -> None:
    assert fetch_adds((0, 1, 5, 0), (1, 6, 9, 1), (0, 10, 12, 2)) is None


def test_overlapping_increments_may_return_in_any_order() -> None:
    assert fetch_adds((0, 1, 9, 1), (1, 2, 8, 0)) is None


def test_repeated_value() -> None:
    assert fetch_adds((0, 1, 5, 0), (1, 2, 6, 0)) is Verdict.ATOMIC_REPEATED


def test_skipped_value() -> None:
    assert fetch_adds((0, 1, 5, 1)) is Verdict.ATOMIC_SKIPPED


def test_value_older_than_a_completed_increment() -> None:
    verdict = fetch_adds((0, 1, 20, 0), (1, 2, 5, 2), (2, 3, 20, 3), (3, 8, 12, 1))
    assert verdict is Verdict.ATOMIC_ORDER


def test_order_across_the_same_tick_is_not_judged() -> None:
    # The second is issued in the tick in which the first returns: they overlap.
    assert fetch_adds((0, 1, 5, 1), (1, 5, 9, 0)) is None


def test_lanes_of_one_action_are_compared_as_a_set() -> None:
    for order in permutations(range(4)):
        history = History()
        request = history.issue(1, AccessKind.ATOMIC, [WORD] * 4)
        values = [(FIRST + rank) & 0xFFFFFFFF for rank in order]
        history.checker.returned(request, [0, 1, 2, 3], values, 5)
        assert history.checker.finish(6) is None
    history = History()
    request = history.issue(1, AccessKind.ATOMIC, [WORD] * 2)
    history.checker.returned(request, [0, 1], [FIRST, FIRST], 5)
    assert history.verdict() is Verdict.ATOMIC_REPEATED


def test_quiet_increments_count() -> None:
    assert fetch_adds((0, 1, 5, -1), (1, 6, 9, 1)) is None
    assert fetch_adds((0, 1, 5, -1), (1, 6, 9, 0)) is Verdict.ATOMIC_ORDER
    assert fetch_adds((0, 1, 5, -1), (1, 6, 9, 2)) is Verdict.ATOMIC_SKIPPED
    assert fetch_adds((0, 1, 7, -1), (1, 6, 9, 0)) is None


def test_a_quiet_increment_that_returns_a_value_is_unexpected() -> None:
    history = History()
    request = history.issue(1, AccessKind.ATOMIC, [WORD])
    request.scope = QUIET
    history.checker.returned(request, [0], [FIRST], 5)
    assert history.verdict() is Verdict.UNEXPECTED_RESPONSE


def explainable(events: list[tuple[int, int, int, int]]) -> bool:
    """Brute force: some order of all increments respects real time and gives these ranks."""
    for order in permutations(range(len(events))):
        if all(events[number][3] in (rank, -1) for rank, number in enumerate(order)) and all(
            events[later][2] >= events[earlier][1]
            for place, earlier in enumerate(order)
            for later in order[place + 1 :]
        ):
            return True
    return False


@settings(max_examples=200)
@given(
    st.integers(1, 5).flatmap(
        lambda count: st.tuples(
            st.lists(
                st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=count, max_size=count
            ),
            st.one_of(
                st.permutations(range(count)),
                st.lists(st.integers(0, count), min_size=count, max_size=count),
            ),
        )
    )
)
def test_fetch_adds_against_brute_force(
    drawn: tuple[list[tuple[int, int]], list[int]],
) -> None:
    intervals, ranks = drawn
    events = [
        (agent, issue, issue + duration, rank)
        for agent, ((issue, duration), rank) in enumerate(zip(intervals, ranks))
    ]
    assert (fetch_adds(*events) is None) == explainable(events)


@settings(max_examples=150)
@given(
    st.integers(1, 5).flatmap(
        lambda count: st.tuples(
            st.lists(
                st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=count, max_size=count
            ),
            st.permutations(range(count)),
            st.lists(st.booleans(), min_size=count, max_size=count),
        )
    )
)
def test_quiet_increments_never_raise_a_false_alarm(
    drawn: tuple[list[tuple[int, int]], list[int], list[bool]],
) -> None:
    intervals, ranks, quiet = drawn
    events = [
        (agent, issue, issue + duration, -1 if silent else rank)
        for agent, ((issue, duration), rank, silent) in enumerate(zip(intervals, ranks, quiet))
    ]
    if explainable(events):
        assert fetch_adds(*events) is None
