"""Programs of processors beside kernels: what they share, how they end, and how they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu import Buffer, Device, GpuError
from gpu.errors import HostError, KernelError, NoProgressError
from gpu.host.processors import interpreter
from gpu.host.processors.actions import Access, Atomic, Load, Program, Sleep, Store, Wait
from tests.gpu.host.processors.devices import (
    ENGINES,
    IN_VAIN,
    impatient,
    launched,
    opened,
    shared,
)


def raising(flag: int, after: int) -> Program:
    yield Sleep(after)
    yield Store(flag, 1)


def counting(lock: int, count: int, rounds: int) -> Program:
    """Increments between taking and releasing a lock, as the kernel does."""
    for _ in range(rounds):
        while (yield Atomic("cas", lock, 1, 0)):
            yield Sleep(20)
        value = yield Load(count)
        yield Store(count, value + 1)
        yield Store(lock, 0)
    return rounds


def adding(word: int, rounds: int) -> Program:
    found = []
    for _ in range(rounds):
        old = yield Atomic("add", word, 1)
        found.append(old)
        yield Sleep(60)
    return found


def in_turn(tickets: int, count: int) -> Program:
    """What `ticketlock` does: take a number, wait for it, call the next one."""
    mine = yield Atomic("add", tickets, 1)
    yield Wait(tickets + 4, mine)
    value = yield Load(count)
    yield [Store(count, value + 1), Load(count + 64)]
    yield Store(tickets + 4, mine + 1)
    return mine


def locked(engine: str) -> tuple[int, int]:
    """The sum of what two cores and four work-groups count under one lock, and the ticks."""
    device = opened(engine)
    lock, count = shared(device), shared(device)
    done = launched(device, "lock", "spinlock", 256, lock, count, 4)
    threads = [device.cpu(core).start(counting, lock.address, count.address, 10) for core in (0, 1)]
    device.run(until=done)
    for each in threads:
        device.run(until=each)
    assert [each.result for each in threads] == [10, 10]
    return int(count.numpy()[0]), device.now


def test_a_lock_of_kernel_and_cores_on_both_engines() -> None:
    found = locked("python")
    assert found[0] == 4 * 4 + 2 * 10
    assert locked("native") == found


@pytest.mark.parametrize("engine", ENGINES)
def test_fetch_and_add_from_both_sides(engine: str) -> None:
    """Every old value is found once, by a work-item or by a core."""
    device = opened(engine)
    word, old = shared(device), device.alloc(np.zeros(128, np.int32))
    done = launched(device, "litmus", "rmw_sc_sys", 128, word, old)
    threads = [device.cpu(core).start(adding, word.address, 30) for core in (0, 1)]
    device.run(until=done)
    for each in threads:
        device.run(until=each)
    assert word.numpy()[0] == 188
    items = old.numpy().tolist()
    assert sorted([*items, *threads[0].result, *threads[1].result]) == list(range(188))
    assert min(items) > 0 and max(items) < 187, "the cores began before and ended behind the kernel"


def test_kernel_and_cores_wait_for_each_other_in_turn() -> None:
    device = opened()
    tickets, count = shared(device, 2), shared(device, 32)
    done = launched(device, "lock", "ticketlock", 256, tickets, count)

    def several() -> Program:
        numbers = []
        for _ in range(12):
            mine = yield from in_turn(tickets.address, count.address)
            numbers.append(mine)
            yield Sleep(150)
        return numbers

    threads = [device.cpu(core).start(several) for core in (0, 1)]
    device.run(until=done)
    for each in threads:
        device.run(until=each)
    assert count.numpy()[0] == tickets.numpy()[0] == tickets.numpy()[1] == 28
    taken = {*threads[0].result, *threads[1].result}
    kernel = [number for number in range(28) if number not in taken]
    assert len(kernel) == 4 and kernel[0] > 0 and kernel[-1] < 27


def test_a_core_polls_what_a_kernel_stores() -> None:
    device = opened()
    x = np.arange(1, 65, dtype=np.int32)
    a, c = device.alloc(x), shared(device, 64)

    def reading() -> Program:
        seen = []
        for place in range(64):
            value = yield Wait(c.address + 4 * place, lambda value: value > 0)
            seen.append(value)
        return seen

    waiting = device.cpu(1).start(reading)
    done = launched(device, "vadd", "vadd_i", 64, a, a, c)
    device.run(until=waiting)
    assert waiting.result == (2 * x).tolist()
    device.run(until=done)


def test_accesses_of_a_list_are_made_at_once() -> None:
    device = opened()
    words = shared(device, 96)

    def accesses(line: int) -> list[Access]:
        place = words.address + 64 * line
        return [Store(place, 5), Load(place + 64), Atomic("add", place + 128, 3)]

    def program() -> Program:
        at_once = yield accesses(0)
        between = device.now
        one_by_one = []
        for access in accesses(3):
            value = yield access
            one_by_one.append(value)
        return at_once, one_by_one, between

    before = device.now
    made = device.cpu(0).start(program)
    device.run(until=made)
    at_once, one_by_one, between = made.result
    assert at_once == one_by_one == [None, 0, 0]
    assert words.numpy()[[0, 32, 48, 80]].tolist() == [5, 3, 5, 3]
    assert 2 * (between - before) < device.now - between


# ------------------------------------------------------------------ how it ends


def test_a_kernel_waits_for_a_program_that_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    device = impatient(monkeypatch)
    flag = shared(device)
    done = launched(device, "wait", "spin_forever", 64, flag)
    late = device.cpu(0).start(raising, flag.address, 3 * IN_VAIN)
    device.run(until=done)
    assert late.done and device.now > 3 * IN_VAIN


def test_kernel_and_program_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    device = impatient(monkeypatch)
    flag, other = shared(device), shared(device)

    def waiting() -> Program:
        yield Wait(other.address, 1)
        yield Store(flag.address, 1)

    done = launched(device, "wait", "spin_forever", 64, flag)
    stuck = device.cpu(0).start(waiting)
    with pytest.raises(KernelError, match="every wave repeats"):
        device.run(until=done)
    why = rf"CPU 0 waits for 4 bytes at {other.address:#x}, which hold 0"
    with pytest.raises(NoProgressError, match=why):
        device.run(until=stuck)
    other.write(np.ones(1, np.int32))
    device.run(until=stuck)
    assert stuck.result is None


def test_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    device = opened()
    late = device.cpu(0).start(raising, shared(device).address, 1000)
    device.run(until=late, limit=300)
    assert not late.done and device.now < 400
    with pytest.raises(GpuError, match="a program of CPU 0 has not ended yet"):
        _ = late.result
    device.run()
    assert late.done


def polling(flag: int) -> Program:
    while not (yield Load(flag)):
        pass


def dividing(flag: int) -> Program:
    yield Load(flag // 0)


def wrong(flag: int) -> Program:
    yield (Load(flag), 7)


def reading_nowhere(flag: int) -> Program:
    try:
        yield Load(64)
    except GpuError as error:
        yield Store(flag, 9)
        raise LookupError(f"found out: {error}") from None


@pytest.mark.parametrize(
    ("program", "kind", "words"),
    [
        (polling, HostError, "CPU 1: 300 steps of a program, and no end; a `Wait` polls"),
        (dividing, ZeroDivisionError, "division"),
        (wrong, HostError, r"CPU 1: a program yields Load, .*, not \(Load\(address=.*, 7\)"),
        (reading_nowhere, LookupError, "found out: CPU 1: address 0x40: nothing is mapped"),
    ],
)
def test_what_a_program_raises(
    program: Callable[..., Program],
    kind: type[Exception],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interpreter, "MOST_ACTIONS", 300)
    device = opened()
    flag = shared(device)
    failing = device.cpu(1).start(program, flag.address)
    with pytest.raises(kind, match=words):
        device.run()
    device.run()
    with pytest.raises(kind, match=words):
        _ = failing.result
    assert flag.numpy()[0] == (9 if program is reading_nowhere else 0)


@pytest.mark.parametrize(
    "use",
    [
        lambda device, word: device.run(),
        lambda device, word: device.cpu(0).load(word.address),
        lambda device, word: device.signal(1).wait("<", 1),
    ],
)
def test_a_program_does_not_run_the_device(use: Callable[[Device, Buffer], Any]) -> None:
    device = opened()
    word = shared(device)

    def program() -> Program:
        yield Store(word.address, 1)
        use(device, word)

    failing = device.cpu(0).start(program)
    with pytest.raises(HostError, match="a program of CPU 0 runs the device that runs it"):
        device.run(until=failing)


def test_a_program_is_a_generator() -> None:
    with pytest.raises(HostError, match=r"CPU 0: a program is a generator.*this returns 5"):
        opened().cpu(0).start(lambda: 5)  # type: ignore[arg-type,return-value]
