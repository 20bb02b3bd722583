"""Errors that are rarely made: the same verdict, word for word, on both engines.

One protocol holds all of them, compiled once; its parameter ``which`` says which one is made.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.native.leg import NativeProtocol
from tests.tester.native.equality import (
    named,
    native_engine,
    run_in_python,
    run_natively,
    words_of,
)
from tests.tester.native.solo import load

ENTRY = "Cycles c; WriteMask w; DataBlock d; int n; bool b;"
MEMORY = """out_msg.addr := address; out_msg.Type := MemoryRequestType:MEMORY_READ;
  out_msg.Sender := machineID; out_msg.MessageSize := MessageSizeType:Request_Control;"""
ASKS = f"enqueue(memory_out, MemoryMsg, {{}}) {{{{ {MEMORY} }}}}"

VERDICTS = {
    # A callback after the mistake answers with nonsense, which must not become the verdict.
    "unset_cache_entry(); cache_entry.n := 1;": "null_dereference",
    # What setState writes to a record that is gone: gem5 writes into freed memory.
    "TBEs.allocate(address); set_tbe(TBEs[address]); TBEs.deallocate(address);": "not_allocated",
    "cache_entry.n := cache_entry.n / (cache_entry.n - cache_entry.n);": "division_by_zero",
    # Times from now are read with their sign, though Cycles are unsigned.
    ASKS.format("intToCycles(0 - 600)"): "negative_latency",
    ASKS.format("cache_entry.c - intToCycles(1 << 30)"): "negative_latency",
    ASKS.format("cache_entry.n - 700"): "negative_latency",
    # Shifts and ranges of the library's own.
    "cache_entry.b := maskLowOrderBits(address, 0 - 1) == address;": "bad_shift",
    "cache_entry.b := maskLowOrderBits(address, 65) == address;": "bad_shift",
    "cache_entry.n := cache_entry.w.count(0 - 1);": "index_range",
    "cache_entry.n := cache_entry.w.firstBitSet(true, 0 - 1);": "index_range",
    "cache_entry.b := cache_entry.w.test(0 - 1);": "index_range",
    "cache_entry.w.setMask(2147483647, 1);": "index_range",
    "cache_entry.w.setMask(3, 2147483647);": "index_range",
    "cache_entry.d.copyPartial(cache_entry.DataBlk, 2147483647, 4);": "index_range",
    # A range of bytes ends within the line, which has 64 of them here.
    "cache_entry.w.setMask(64, 1);": "index_range",
    "cache_entry.w.setMask(0, 65, false);": "index_range",
    "cache_entry.b := cache_entry.w.getMask(63, 2);": "index_range",
    "cache_entry.d.copyPartial(cache_entry.DataBlk, 61, 4);": "index_range",
}

# Recycled one tick into the past, before messages of this tick and behind older ones: the pop that
# follows may take one of those, and the recycled request is answered twice.
OVERTAKEN = "mandatory_in.recycle(clockEdge(), cyclesToTicks(intToCycles(0 - 1)));"
HARMLESS = (
    "TBEs.allocate(address); set_tbe(TBEs[address]); TBEs.deallocate(address); unset_tbe();",
    "mandatory_in.recycle(clockEdge(), cyclesToTicks(cache_entry.c - intToCycles(1 << 30)));",
    "scheduleEvent(intToCycles(0 - 1));",
    "scheduleEvent(cache_entry.c - intToCycles(1 << 30));",
    "cache_entry.b := maskLowOrderBits(address, 64) == address;",
    "cache_entry.w.setMask(0, 64); assert(cache_entry.w.isFull());",
    "cache_entry.w.setMask(64, 0); assert(cache_entry.w.isEmpty());",
    "cache_entry.d.copyPartial(cache_entry.DataBlk, 60, 4);",
    "cache_entry.b := cache_entry.w.test(2147483647);",
    "cache_entry.n := cache_entry.w.count(2147483647);",
)


BODIES = (*VERDICTS, OVERTAKEN, *HARMLESS)
BACK = ("1", "1 << 30")
"""How long before the beginning an alarm is set."""
Compiled = tuple[LoadedProtocol, NativeProtocol]


def branches(bodies: Sequence[str]) -> str:
    """Statements of which the parameter selects one."""
    return " ".join(f"if (which == {n}) {{ {body} }}" for n, body in enumerate(bodies))


def compiled(directory: Path, body: str, **parts: str) -> Iterator[Compiled]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        action = f'action(x_error, "x") {{ {body} }}'
        parameters = "int which := 0;"
        named = {"parameters": parameters, "entry": ENTRY, "actions": action, "on_load": "x_error;"}
        protocol = load(directory, monkeypatch, **named, **parts)
        engine = native_engine(protocol).native
        assert engine is not None
        yield protocol, engine


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    functions = "void scheduleEvent(Cycles c);"
    directory = tmp_path_factory.mktemp("mistaken")
    yield from compiled(directory, branches(BODIES), functions=functions)


@pytest.fixture(scope="module")
def alarmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    sets = [f"timer.set(address, cyclesToTicks(cache_entry.c - intToCycles({x})));" for x in BACK]
    yield from compiled(
        tmp_path_factory.mktemp("alarmed"),
        f"if (timer.isSet(address) == false) {{ {branches(sets)} }}",
        types="""structure(TimerTable, external="yes") {
          bool isReady(Tick); Addr nextAddress(); void set(Addr, Tick); bool isSet(Addr); }""",
        objects="TimerTable timer;",
        ports="""in_port(timer_in, Addr, timer, rank=2) {
          if (timer_in.isReady(clockEdge())) { error("rings"); } }""",
    )


def endings(made: Compiled, which: int, legs: int = 2) -> set[str]:
    """How legs end, which is the same on both engines."""
    protocol, engine = made
    sampler = random.Random(1)
    found = set()
    assignments = {"machine.L1Cache.count": 1, "machine.L1Cache.parameters.which": which}
    for number in range(legs):
        # Large caches: a request that is recycled is not overtaken by a victim.
        seed = sampler.randrange(1 << 30)
        options = Options(seed, 60, "coherence", assignments=assignments, leg_episodes=30)
        leg = replace(Campaign(protocol, options).plan(number).leg, deadlock_limit=20_000)
        mine, native = run_natively(protocol, engine, leg)
        theirs, python = run_in_python(protocol, leg)
        assert mine == theirs
        error = python.outcome.error
        if error is None or native.error is None:
            assert error is native.error
        else:
            assert words_of(named(native.error, protocol, leg)) == words_of(error)
        found.add(mine.finding.partition(" at ")[0] if error is None else error.kind.value)
    return found


@pytest.mark.parametrize("body", VERDICTS)
def test_an_error_is_the_same_verdict(body: str, mistaken: Compiled) -> None:
    assert endings(mistaken, BODIES.index(body)) == {VERDICTS[body]}


@pytest.mark.parametrize("body", HARMLESS)
def test_what_only_looks_like_an_error_passes(body: str, mistaken: Compiled) -> None:
    assert endings(mistaken, BODIES.index(body)) == {""}


def test_a_pop_after_a_recycle_loses_the_message_that_was_behind(mistaken: Compiled) -> None:
    assert endings(mistaken, BODIES.index(OVERTAKEN), legs=8) == {"", "bad_callback"}


@pytest.mark.parametrize("back", BACK)
def test_an_alarm_that_never_comes_is_a_hang(back: str, alarmed: Compiled) -> None:
    """Ticks are unsigned: a time before the beginning is one that is not reached."""
    assert endings(alarmed, BACK.index(back)) == {"hang"}
