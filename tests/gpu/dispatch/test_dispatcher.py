"""Which groups run where and when, against a calculation that knows only the limits."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu.dispatch.dispatcher import Placement
from gpu.dispatch.occupancy import Limits
from gpu.dispatch.work_groups import clipped, group_counts, group_ids, wave_count, work_items
from gpu.errors import PacketError
from gpu.host.device_core import Options
from tests.gpu.kernels.stored import stored
from tests.gpu.packet_processor.harness import Bench

ARGS = [0, 0, 0, 64]
sizes = st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9))


# ------------------------------------------------------------------ groups and work-items


@given(sizes, sizes)
def test_groups_cover_the_grid_once_x_fastest(
    grid: tuple[int, int, int], group: tuple[int, int, int]
) -> None:
    ids = list(group_ids(grid, group))
    assert len(ids) == len(set(ids))
    assert ids == sorted(ids, key=lambda place: place[::-1])
    assert tuple(max(place[axis] for place in ids) + 1 for axis in range(3)) == group_counts(
        grid, group
    )
    items = Counter(
        (place[0] * group[0] + x, place[1] * group[1] + y, place[2] * group[2] + z)
        for place in ids
        for size in [clipped(grid, group, place)]
        for x in range(size[0])
        for y in range(size[1])
        for z in range(size[2])
    )
    assert len(items) == grid[0] * grid[1] * grid[2] == items.total()


@given(sizes)
def test_lane_l_of_wave_w_is_work_item_64w_plus_l(items: tuple[int, int, int]) -> None:
    """Counted with three loops."""
    total = items[0] * items[1] * items[2]
    expected = [
        (x, y, z) for z in range(items[2]) for y in range(items[1]) for x in range(items[0])
    ]
    waves = work_items(items, 3)
    assert len(waves) == wave_count(items) == (total + 63) // 64
    found = []
    for ids, lanes in waves:
        count = bin(lanes).count("1")
        assert lanes == (1 << count) - 1
        found += [tuple(int(row) for row in ids[:, lane]) for lane in range(count)]
    assert found == expected


@pytest.mark.parametrize(
    ("grid", "group", "lanes"),
    [
        ((100,), (64,), {(0, 0, 0): 64, (1, 0, 0): 36}),
        ((10, 5), (8, 4), {(0, 0, 0): 32, (1, 0, 0): 8, (0, 1, 0): 8, (1, 1, 0): 2}),
        ((3, 3, 3), (2, 2, 2), {(0, 0, 0): 8, (1, 1, 0): 2, (1, 1, 1): 1}),
    ],
)
def test_partial_groups(
    grid: tuple[int, ...], group: tuple[int, ...], lanes: dict[tuple[int, int, int], int]
) -> None:
    bench = Bench()
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), grid, group, ARGS)
    queue.ring()
    bench.device.run()
    found = {
        start.id: sum(bin(wave.exec).count("1") for wave in start.waves)
        for kind, _, start in bench.log
        if kind == "start"
    }
    assert lanes.items() <= found.items()
    assert sum(found.values()) == int(__import__("math").prod(grid))


# ------------------------------------------------------------------ placement


def most_at_once(bench: Bench) -> dict[int, int]:
    """For each compute unit the most groups that were resident."""
    now: Counter[int] = Counter()
    most: Counter[int] = Counter()
    where = {group: unit.index for unit in bench.units for group in unit.where}
    for kind, _, group in bench.log:
        now[where[group]] += 1 if kind == "start" else -1
        most[where[group]] = max(most[where[group]], now[where[group]])
    return dict(most)


@settings(max_examples=25)
@given(
    group=st.integers(1, 256),
    lds=st.sampled_from([0, 1000, 9000, 40_000]),
    slots=st.integers(4, 10),
    vgprs=st.sampled_from([16, 64, 256]),
    barriers=st.integers(1, 16),
    cus=st.integers(1, 3),
)
def test_packing_is_what_the_limits_allow(
    group: int, lds: int, slots: int, vgprs: int, barriers: int, cus: int
) -> None:
    """Brute force: one group more than fits would break a limit."""
    limits = Limits(waves_per_simd=slots, vgprs=vgprs, barriers=barriers)
    bench = Bench(cus=cus, limits=limits, ticks={0: 1000})
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), group * 200, group, ARGS, group_bytes=lds)
    queue.ring()
    bench.device.run()
    descriptor = bench.kernel().kernel.descriptor
    waves, granules = -(-group // 64), -(-lds // 512)
    sgprs = -(-descriptor.sgprs // 16) * 16

    def within(groups: int) -> bool:
        per_simd = [0] * 4
        for wave in range(groups * waves):
            per_simd[wave % 4] += 1
        return (
            max(per_simd) <= slots
            and max(per_simd) * descriptor.vgprs <= vgprs
            and max(per_simd) * sgprs <= 800
            and groups * granules <= 128
            and (waves == 1 or groups <= barriers)
        )

    fits = max(groups for groups in range(41) if within(groups))
    assert most_at_once(bench) == dict.fromkeys(range(cus), fits)
    assert len(bench.events("end")) == 200
    assert bench.events("start") == [(0, (x, 0, 0)) for x in range(200)]


def test_placements() -> None:
    """Round robin spreads; first fit fills one unit before the next."""
    for placement, expected in (
        (Placement.ROUND_ROBIN, [0, 1, 2, 0, 1, 2]),
        (Placement.FIRST_FIT, [0, 0, 0, 0, 0, 0]),
    ):
        bench = Bench(cus=3, options=Options(placement=placement))
        queue = bench.device.create_queue()
        queue.dispatch(bench.kernel(), 6 * 64, 64, ARGS)
        queue.ring()
        bench.device.run()
        where = {group: unit.index for unit in bench.units for group in unit.where}
        assert [where[group] for kind, _, group in bench.log if kind == "start"] == expected


def test_the_mask_is_kept() -> None:
    bench = Bench(cus=4)
    queue = bench.device.create_queue(cu_mask=0b0110)
    queue.dispatch(bench.kernel(), 64 * 100, 64, ARGS)
    queue.ring()
    bench.device.run()
    assert [len(unit.where) for unit in bench.units] == [0, 50, 50, 0]
    bench.device.set_cu_mask(queue, 0b1000)
    queue.dispatch(bench.kernel(), 64 * 100, 64, ARGS)
    queue.ring()
    bench.device.run()
    assert [len(unit.where) for unit in bench.units] == [0, 50, 50, 100]


def test_the_oldest_kernel_goes_first_and_others_fill_what_is_left() -> None:
    """Groups of three quarters of the LDS: one a unit; a small kernel runs beside them."""
    bench = Bench(cus=1, ticks={0: 100, 1: 100, 2: 10})
    queue = bench.device.create_queue()
    for groups, lds in ((3, 48 * 1024), (2, 48 * 1024), (4, 4096)):
        queue.dispatch(bench.kernel(), groups * 64, 64, ARGS, group_bytes=lds)
    queue.ring()
    bench.device.run()
    starts = bench.events("start")
    large = [packet for packet, _ in starts if packet < 2]
    assert large == [0, 0, 0, 1, 1]
    assert bench.tick_of("end", 2) < bench.tick_of("end", 0)
    assert bench.tick_of("start", 1) >= bench.tick_of("end", 0)


def test_a_limited_rate() -> None:
    bench = Bench(options=Options(dispatch_rate=2))
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), 64 * 10, 64, ARGS)
    queue.ring()
    bench.device.run()
    per_tick = Counter(tick for kind, tick, _ in bench.log if kind == "start")
    assert sorted(per_tick.values()) == [2] * 5


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        (Limits(waves_per_simd=0), "4 waves"),
        (Limits(vgprs=4), "VGPRs"),
        (Limits(sgprs=8), "SGPRs"),
        (Limits(lds=512), "1024 bytes of LDS"),
        (Limits(barriers=0), "4 waves"),
    ],
)
def test_a_group_that_can_never_fit_is_a_packet_error(limits: Limits, what: str) -> None:
    bench = Bench(limits=limits)
    queue = bench.device.create_queue()
    queue.dispatch(bench.kernel(), 256, 256, ARGS, group_bytes=1024)
    queue.ring()
    with pytest.raises(PacketError, match="a group fits an empty compute unit") as caught:
        bench.device.run()
    assert what in str(caught.value)
    assert not bench.log


def test_scratch_slots_limit_waves_and_are_never_shared() -> None:
    """131,000 bytes a work-item are 8 MiB a wave: the pool serves 32 of 80 waves."""
    bench = Bench(ticks={0: 50})
    kernel = bench.device.load(stored("scratch"))["isort"]
    queue = bench.device.create_queue()
    queue.dispatch(kernel, 64 * 100, 128, [0], private_bytes=131_000)
    queue.ring()
    bench.device.run()
    waves = queue.field("compute_tmpring_size") & 0xFFF
    assert waves == 32
    per_wave = (queue.field("compute_tmpring_size") >> 12) * 1024
    resident: set[int] = set()
    most = 0
    for kind, _, group in bench.log:
        bases = {wave.private_base for wave in group.waves}
        assert len(bases) == 2 and all(base % 1024 == 0 for base in bases)
        if kind == "start":
            assert not resident & bases
            resident |= bases
            most = max(most, len(resident))
        else:
            resident -= bases
    assert most == waves
    assert len(bench.events("end")) == 50
    every = {wave.private_base for _, _, group in bench.log for wave in group.waves}
    assert max(every) - min(every) == per_wave * (waves - 1)
