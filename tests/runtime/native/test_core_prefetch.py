"""The prefetcher of the native core asks for the lines that the one of the Python runtime does."""

from __future__ import annotations

from runtime.prng import Prng, mix64
from runtime.structures.prefetcher import RubyPrefetcher
from tests.runtime.native.test_core_storage import Native

MASK64 = (1 << 64) - 1


class Listener:
    """A controller, as far as a prefetcher knows one."""

    def __init__(self) -> None:
        self.now = 0
        self.asked: list[int] = []
        self.hash = 0

    def curCycle(self) -> int:
        return self.now

    def enqueuePrefetch(self, address: int, kind: int) -> None:
        self.asked.append(address)
        self.hash = mix64((self.hash + address + kind) & MASK64)


def prefetcher() -> tuple[RubyPrefetcher, Listener]:
    made, listener = RubyPrefetcher(64), Listener()
    made.attach(listener)  # type: ignore[arg-type]
    return made, listener


def test_both_engines_ask_for_the_same_lines() -> None:
    for seed in range(8):
        prng = Prng(seed).fork("prefetch")
        native = Native()
        pairs = [prefetcher() for _ in range(3)]
        at = [1 << 16, 1 << 17, 1 << 18]
        stride = [64, 64, 64]
        for _ in range(1500):
            number, op, kind = prng.below(3), prng.below(4), prng.below(2)
            p, listener = pairs[number]
            if prng.below(60) == 0:
                stride[number] = (prng.below(9) - 4) * 64
            if prng.below(90) == 0:
                at[number] = prng.below(1 << 10) * 64
            at[number] = (at[number] + stride[number]) % (1 << 20)
            address = at[number]
            if op in (1, 2) and listener.asked:
                address = listener.asked[-1 - prng.below(min(4, len(listener.asked)))]
            for _, each in pairs:
                each.now += prng.below(2)
                each.now = pairs[0][1].now
            native("t_tick", listener.now)
            if op in (1, 2):
                (p.observePfHit if op == 1 else p.observePfMiss)(address)
            else:
                op = 0
                p.observeMiss(address, kind)
            assert native("t_prefetcher", op, number, address, kind) == listener.hash
        assert any(listener.asked for _, listener in pairs)


def test_a_stream_follows_misses_of_successive_lines_to_the_end_of_the_page() -> None:
    p, listener = prefetcher()
    for line in range(0x1000, 0x1000 + 5 * 64, 64):
        p.observeMiss(line, 0)
    assert listener.asked == [0x1140]
    while len(listener.asked) < 100:
        count = len(listener.asked)
        p.observePfHit(listener.asked[-1])
        if len(listener.asked) == count:
            break
    assert listener.asked[-1] == 0x1FC0


def test_a_stream_may_go_back_and_may_take_strides() -> None:
    p, listener = prefetcher()
    for line in range(0x1400, 0x1400 - 5 * 64, -64):
        p.observeMiss(line, 0)
    assert listener.asked == [0x12C0]
    p, listener = prefetcher()
    for number in range(7):
        p.observeMiss(0x2000 + 192 * number, 0)
    assert listener.asked == [0x2000 + 192 * 7]


def test_a_miss_that_a_stream_waits_for_teaches_nothing() -> None:
    p, listener = prefetcher()
    for line in range(0x1000, 0x1000 + 5 * 64, 64):
        p.observeMiss(line, 0)
    for _ in range(9):
        p.observeMiss(0x1140, 0)
    assert listener.asked == [0x1140]
    p.observePfMiss(0x1140)
    assert listener.asked == [0x1140, 0x1180]
