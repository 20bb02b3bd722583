"""What the checks find in programs that make one mistake, and not in those that make none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.sanitizers.sanitizer import Checks
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.generation import Generation
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units, split
from tests.gpu.compute_unit.launching import Launch, put, run_launch
from tests.gpu.compute_unit.machine_code import code
from tests.gpu.compute_unit.slow_memory import SlowMemory
from tests.gpu.kernels.stored import stored
from tests.sampling import sampled

NOP = bytes.fromhex("000080bf")
WAIT_VM = bytes.fromhex("700f8cbf")
INVALIDATE = bytes.fromhex("0000fce000000000")
TIMED = pytest.mark.parametrize("timed", [False, True])


def _found(
    program: bytes | str,
    sgprs: Callable[[Bench], list[list[int]]],
    check: str,
    timed: bool,
    **group: Any,
) -> list[str]:
    """Findings of groups that run together, one for each list of registers."""
    bench = Bench(program, SlowMemory(lambda request: 30, cus=2))
    checks, hang_detector = Checks([check]), HangDetector()
    make = TimedUnit if timed else FunctionalUnit
    units = [
        make(index, bench.memory, hang_detector=hang_detector, checks=checks) for index in range(2)
    ]
    for number, registers in enumerate(sgprs(bench)):
        units[number % 2].start(bench.group(registers, number=number, **group))
    run_timed(bench.memory, *units) if timed else run_units(*units)
    assert not bench.listener.faults
    return [str(finding) for finding in checks.findings]


def _two_buffers(bench: Bench) -> list[list[int]]:
    return [[*split(bench.buffer(128)), *split(bench.buffer(128))]]


@TIMED
def test_a_read_before_the_wait(timed: bool) -> None:
    (found,) = _found("stale", _two_buffers, "waits", timed)
    assert found.startswith("waits: `v_mov_b32_e32 v5, v4` at 0x")
    assert "reads v4 before `flat_load_dword v4, v[2:3]` at 0x" in found
    assert "it may find the old value; no s_waitcnt in between waits for its vmcnt" in found


@TIMED
def test_a_read_that_m0_chooses_before_the_wait(timed: bool) -> None:
    (found,) = _found("indexed_wait", _two_buffers, "waits", timed)
    assert "`v_movrels_b32_e32 v8, v4`" in found
    assert "reads v6 before `flat_load_dword v6, v[2:3]`" in found


@TIMED
def test_reads_in_index_mode(timed: bool) -> None:
    (found,) = _found("index_wait", _two_buffers, "waits", timed)
    assert "`v_mov_b32_e32 v8, v4`" in found
    assert "reads v6 before `flat_load_dword v6, v[2:3]`" in found
    (found,) = _found("index_wait", _two_buffers, "uninitialised", timed)
    assert "`v_add_u32_e32 v8, vcc, v8, v8`" in found and "reads v8" in found


@TIMED
def test_a_write_before_the_wait(timed: bool) -> None:
    (found,) = _found("overwritten", _two_buffers, "waits", timed)
    assert "`v_mov_b32_e32 v4, 7`" in found
    assert "overwrites v4 before" in found
    assert "the load may come later and undo it" in found


@TIMED
def test_scalar_loads_need_a_wait_for_all(timed: bool) -> None:
    (found,) = _found("scalar_order", _two_buffers, "waits", timed)
    assert "`v_mov_b32_e32 v5, s8`" in found and "waits for its lgkmcnt" in found


@TIMED
@pytest.mark.parametrize("program", ["two_loads", "handshake", "exec_zero"])
def test_right_waits_are_silent(program: str, timed: bool) -> None:
    def registers(bench: Bench) -> list[list[int]]:
        return [[*split(bench.buffer(1024)), *split(bench.buffer(1024)), 0, 0, 0, 0]]

    assert not _found(program, registers, "waits", timed, lds=1024)


@TIMED
@pytest.mark.parametrize("early", [0, 1])
def test_lds_returns_in_order_beside_flat_loads(early: int, timed: bool) -> None:
    def registers(bench: Bench) -> list[list[int]]:
        return [[*split(bench.buffer(64)), early]]

    found = _found("lds_order", registers, "waits", timed, lds=64)
    assert len(found) == early
    assert all("reads v6 before `ds_read_b32 v6, v3 offset:4`" in line for line in found)


@TIMED
def test_moves_and_choices_hand_on_what_they_take(timed: bool) -> None:
    """Only where an undefined part of it is used for something else."""
    vector, scalar = _found("chosen", lambda bench: [[]], "uninitialised", timed)
    assert "`v_add_u32_e32 v8, vcc, v7, v7`" in vector
    assert "lanes 1, 3, 5" in vector and "reads v7" in vector
    assert "`s_mov_b64 vcc, s[8:9]`" in scalar and "reads s9" in scalar


@TIMED
def test_registers_that_m0_chooses(timed: bool) -> None:
    never, first = _found("indexed", lambda bench: [[]], "uninitialised", timed)
    assert "`v_add_u32_e32 v8, vcc, v7, v7`" in never and "reads v7" in never
    assert "`v_add_u32_e32 v8, vcc, v2, v2`" in first and "reads v2" in first


@TIMED
def test_reads_of_what_was_never_written(timed: bool) -> None:
    found = _found("undefined", lambda bench: [[]], "uninitialised", timed, lds=64)
    assert [line.split("reads ")[1] for line in found] == [
        "v7, which nothing has written",
        "s9, which nothing has written",
        "scc, which nothing has written",
        "LDS at offset 0x8, which nothing has written",
        "v8, which nothing has written",
    ]
    assert "lanes 0-63, reads v7" in found[0]
    assert "lanes 8-11, reads v8" in found[4]


@TIMED
def test_what_compilers_read_undefined_on_purpose(timed: bool) -> None:
    def registers(bench: Bench) -> list[list[int]]:
        low, high = split(bench.buffer(4096))
        return [[0, 0, 0, 0, low, high, 4096, 0]]

    (found,) = _found("habits", registers, "uninitialised", timed)
    assert "`s_not_b64 s[12:13], s[10:11]`" in found and "reads s10" in found


@TIMED
def test_one_half_is_filled_while_the_other_is_unknown(timed: bool) -> None:
    def registers(bench: Bench) -> list[list[int]]:
        return [split(bench.buffer(64))]

    (found,) = _found(
        "half_filled", registers, "uninitialised", timed, lds=256, generation=Generation.GFX9
    )
    assert "v_mad_u16 v8, v8, v0, v0" in found and "reads v8" in found


@TIMED
@pytest.mark.parametrize("program", ["handshake", "two_loads"])
def test_what_was_written_may_be_read(program: str, timed: bool) -> None:
    def registers(bench: Bench) -> list[list[int]]:
        return [[*split(bench.buffer(1024)), *split(bench.buffer(1024))]]

    found = _found(program, registers, "uninitialised", timed, lds=64, items=128)
    assert not found


def _message(bench: Bench) -> list[list[int]]:
    data, flag = bench.buffer(64), bench.buffer(64)
    return [[*split(data), *split(flag), 1], [*split(data), *split(flag), 0]]


@TIMED
def test_a_release_and_an_acquire_order_two_groups(timed: bool) -> None:
    assert not _found("release_acquire", _message, "races", timed)


@TIMED
@pytest.mark.parametrize(
    "before, after, why",
    [
        (
            INVALIDATE,
            NOP * 2,
            ": acquire at agent scope instead of work-group or relaxed: after the load that "
            "synchronises there is no buffer_wbinvl1",
        ),
        (
            WAIT_VM,
            NOP,
            ": release at agent scope instead of work-group or relaxed: the store that "
            "synchronises did not wait with s_waitcnt vmcnt(0)",
        ),
    ],
    ids=["no invalidation", "no wait before the flag"],
)
def test_a_message_without_one_of_its_parts(
    before: bytes, after: bytes, why: str, timed: bool
) -> None:
    program = code("release_acquire")
    assert before in program
    mutant = program.replace(before, after, 1)
    found = _found(mutant, _message, "races", timed)
    (race,) = [line for line in found if "`flat_load_dword v9, v[2:3]`" in line]
    assert "`flat_store_dword v[2:3], v6`" in race
    assert "lane 0 of wave 0 of group (0, 0, 0)" in race
    assert "lane 0 of wave 0 of group (1, 0, 0)" in race
    assert why in race


def test_a_flag_that_is_looked_at_through_the_cache_is_a_race() -> None:
    program = code("release_acquire")
    glc = program.index(bytes.fromhex("000051dc"))
    mutant = program[:glc] + bytes.fromhex("000050dc") + program[glc + 4 :]
    found = _found(mutant, _message, "races", False)
    assert any(
        "`flat_store_dword v[4:5], v7`" in line and "load_dword v8" in line for line in found
    )


def _adders(use: int, scalar: int) -> Callable[[Bench], list[list[int]]]:
    def registers(bench: Bench) -> list[list[int]]:
        word = split(bench.buffer(64))
        return [[*word, *split(bench.buffer(64)), use, scalar, 0, 0, 0, 0] for _ in range(4)]

    return registers


SCALAR = pytest.mark.parametrize("scalar", [0, 1], ids=["vector load", "scalar load"])


@TIMED
@SCALAR
def test_what_a_swap_begins_with_is_judged_by_the_swap(scalar: int, timed: bool) -> None:
    assert not _found("guess", _adders(0, scalar), "races", timed)


@TIMED
@SCALAR
@pytest.mark.parametrize("use", range(1, 8))
def test_any_other_use_of_it_is_a_race(use: int, scalar: int, timed: bool) -> None:
    found = _found("guess", _adders(use, scalar), "races", timed)
    load = "`s_load_dword s6, s[0:1], 0x0`" if scalar else "`flat_load_dword v7, v[2:3]`"
    assert any(load in line for line in found)


@TIMED
def test_waves_that_use_lds_without_a_barrier(timed: bool) -> None:
    (found,) = _found("local_race", lambda bench: [[0, 0, 0]], "races", timed, lds=64, items=128)
    assert "`ds_write_b32 v1, v2`" in found and "`ds_read_b32 v3, v1`" in found
    assert "LDS offset 0x10: no barrier of the group and no atomic orders them" in found


@TIMED
def test_waves_that_use_lds_with_a_barrier(timed: bool) -> None:
    assert not _found("local_race", lambda bench: [[0, 0, 1]], "races", timed, lds=64, items=128)


def _words(memory: SlowMemory, *counts: int) -> list[object]:
    return [put(memory, np.zeros(count, np.int32)) for count in counts]


KERNELS: dict[str, tuple[str, Callable[[SlowMemory], list[object]], int, int]] = {
    "vadd": ("vadd", lambda memory: [*_words(memory, 512, 512, 512), 512], 512, 256),
    "reduce_lds": ("reduce", lambda memory: [*_words(memory, 512, 2), 512], 512, 256),
    "spinlock": ("lock", lambda memory: [*_words(memory, 1, 1), 3], 192, 64),
    "ticketlock": ("lock", lambda memory: _words(memory, 2, 1), 192, 64),
}


@pytest.mark.parametrize(
    ("name", "configuration", "timed"),
    sampled(
        product(
            KERNELS, ["clang14-O2", "clang19-O2", "clang14-O0", "clang14-O2-gfx900"], [False, True]
        ),
        3,
    ),
)
def test_compiled_kernels_are_clean(name: str, configuration: str, timed: bool) -> None:
    source, arguments, grid, group = KERNELS[name]
    memory = SlowMemory(lambda request: 25, cus=2)
    code_object = stored(source, configuration)
    launch = Launch(memory, code_object, name, arguments(memory), (grid,), (group,))
    checks, hang_detector = Checks(["races", "waits", "uninitialised"]), HangDetector()
    make = TimedUnit if timed else FunctionalUnit
    units = [make(index, memory, hang_detector=hang_detector, checks=checks) for index in range(2)]
    run_launch(memory, launch, units)
    assert not launch.listener.faults
    assert [str(finding) for finding in checks.findings] == []


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mp_rlx_dev", "release and acquire at agent scope instead of work-group or relaxed: "),
        ("mp_ra_wg", "an acquire before the second at agent scope, on one atomic, would"),
        ("mpf_wg", "an acquire before the second at agent scope, on one atomic, would"),
        ("mp_ra_dev", None),
        ("mp_ra_sys", None),
        ("mpf_dev", None),
    ],
)
def test_messages_between_groups_are_judged_by_scope(name: str, why: str | None) -> None:
    """What clang makes of orders and scopes; the first group runs first, so the flag is found."""
    memory, checks = SlowMemory(lambda request: 25, cus=1), Checks(["races"])
    words = _words(memory, 1, 1, 2)
    launch = Launch(memory, stored("litmus"), name, words, (128,), (64,))
    unit = FunctionalUnit(0, memory, hang_detector=HangDetector(), checks=checks)
    run_launch(memory, launch, [unit])
    texts = [str(finding) for finding in checks.findings]
    assert bool(texts) is (why is not None)
    for text in texts:
        assert "lane 0 of wave 0 of group (0, 0, 0)" in text and "group (1, 0, 0)" in text
        assert why is not None and why in text


def test_an_unknown_check() -> None:
    with pytest.raises(ValueError, match="no check `race`; there are races, waits, uninitialised"):
        Checks(["race"])
