"""Whatever bytes a producer writes: every run ends, with packets done or an error message."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpu.errors import GpuError
from gpu.hsa.aql import KernelDispatch
from gpu.hsa.queue_state import QueueState
from tests.gpu.packet_processor.harness import Bench

headers = st.one_of(
    st.integers(0, 0xFFFF),
    st.builds(
        lambda kind, barrier, acquire, release: kind | barrier << 8 | acquire << 9 | release << 11,
        st.integers(2, 5),
        st.integers(0, 1),
        st.integers(0, 2),
        st.integers(0, 2),
    ),
)
words = st.sampled_from((0, 0, 0, 1, 2, 64, 1 << 16, 1 << 31, (1 << 32) - 1))


@st.composite
def packets(draw: st.DrawFn) -> tuple[bytes, int]:
    """Sixty-four bytes, most of them zero or a round number, and what to do with its signals."""
    body = b"".join(draw(words).to_bytes(4, "little") for _ in range(15))
    return draw(headers).to_bytes(2, "little") + draw(words).to_bytes(8, "little")[:2] + body, draw(
        st.integers(0, 63)
    )


def naming(kind: int, *offsets: int) -> bytes:
    """A packet with fences of system scope that names the lowest mapped address: the doorbells,
    which can be stored to and not looked at."""
    packet = bytearray(64)
    packet[:2] = (kind | 2 << 9 | 2 << 11).to_bytes(2, "little")
    for offset in offsets:
        packet[offset : offset + 8] = (1 << 32).to_bytes(8, "little")
    return bytes(packet)


@settings(max_examples=75)
@example([(naming(2, 56), 1)] * 3, 2)
@example([(naming(3, 8), 0), (naming(2, 56), 1)], 1)
@example([(naming(3, 56), 0), (naming(5, 16, 56), 0)], 1)
@example([(naming(4, 8, 56), 0)], 0)
@example([(naming(5, 8, 16, 24, 32, 40, 56), 0)] * 6, 12)
@given(st.lists(packets(), min_size=1, max_size=6), st.integers(0, 12))
def test_any_packets_end(written: list[tuple[bytes, int]], rung: int) -> None:
    bench = Bench()
    errors: list[GpuError] = []
    queue = bench.device.create_queue(8, on_error=lambda _, error: errors.append(error))
    good = bench.device.create_queue(8)
    real = KernelDispatch(
        setup=1,
        group=(64, 1, 1),
        grid=(64, 1, 1),
        kernel_object=bench.kernel().object_address,
        kernarg=bench.device.arguments(bytes(64)),
    ).pack()
    signals = [bench.device.signal(value) for value in (0, 1, -1)]
    for data, choice in written:
        made = bytearray(data)
        if choice & 1:  # what is left of it is a packet that could run
            made[4:56] = real[4:56]
        if choice & 2:
            made[56:64] = signals[choice % 3].handle.to_bytes(8, "little")
        if choice & 4:
            made[8:16] = signals[choice // 4 % 3].handle.to_bytes(8, "little")
        queue.write(queue.reserve(), bytes(made))
    queue.ring(rung)
    bench.device.run()
    assert len(errors) <= 1
    assert queue.state in (QueueState.ACTIVE, QueueState.INACTIVE)
    assert (queue.state is QueueState.INACTIVE) == bool(errors)
    assert all(str(error).startswith("queue 0, packet ") for error in errors)
    done = bench.device.signal(1)
    good.dispatch(bench.kernel(), 64, 64, [0, 0, 0, 64], completion=done)
    good.ring()
    bench.device.run(until=done)
    assert all(unit.idle and unit.resources.idle for unit in bench.units)
