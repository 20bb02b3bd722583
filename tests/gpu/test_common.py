"""What all parts of a GPU agree on: sizes that are rounded, traces, waits of the host."""

from __future__ import annotations

import pytest

from gpu.host_wait import HostWait, NoObserver, host_waits
from gpu.trace import KINDS, Trace
from gpu.wave_size import round_up


@pytest.mark.parametrize("granule", [1, 4, 7, 64])
def test_rounding_up_reaches_the_next_multiple(granule: int) -> None:
    for value in range(200):
        rounded = round_up(value, granule)
        assert rounded % granule == 0 and value <= rounded < value + granule


def test_a_trace_has_what_was_asked_for() -> None:
    lines: list[str] = []
    trace = Trace(["memory"], lines.append)
    assert (trace.waves, trace.memory, trace.packets) == (False, True, False)
    trace.line(12, "CU 0", "load")
    assert lines == ["        12 CU 0: load"]
    with pytest.raises(ValueError, match="no trace of `wave`; there are " + ", ".join(KINDS)):
        Trace(["wave"], lines.append)


def test_a_wait_ends_with_what_was_before_it_even_after_an_error() -> None:
    observer = NoObserver()
    with host_waits(observer, HostWait.ON_CONDITION):
        with pytest.raises(KeyError), host_waits(observer, HostWait.FOR_A_WHILE):
            assert observer.waiting is HostWait.FOR_A_WHILE
            raise KeyError
        assert observer.waiting is HostWait.ON_CONDITION
    assert observer.waiting is HostWait.FOR_EVER
