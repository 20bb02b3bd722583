"""Circles of waits: of stalled heads in every system, of full buffers where all are bounded."""

from __future__ import annotations

from typing import Final

import pytest

from slicc.analysis import analyse
from slicc.analysis.blocking.waits import Capacities
from slicc.compiler import compile_text
from slicc.diagnostics.model import Diagnostic
from tests.slicc.analysis.small_protocol import SMALL

RETURN: Final = "transition(L, Return, F) { "
ANSWERED: Final = SMALL.replace(RETURN, f"{RETURN}s_sendParts; ")
"""A return is answered with parts, and the last part with a return."""
STALLED: Final = SMALL.replace("{ c_count; p_popPart; }", "{ z_stall; }")
BOUNDED: Final[dict[tuple[str, str], int]] = {
    ("L1Cache", "returnToHome"): 1,
    ("L1Cache", "fromHome"): 2,
    ("Directory", "returnFromCache"): 3,
    ("Directory", "toCache"): 4,
}


def circles(text: str, capacities: Capacities | None = None) -> list[Diagnostic]:
    protocol = compile_text(text)
    assert protocol is not None
    return analyse(protocol, ["waiting-cycle"], capacities=lambda: capacities or {})


def test_full_buffers_may_wait_for_each_other() -> None:
    (found,) = circles(ANSWERED, BOUNDED)
    lines = [found.primary.span, *(label.span for label in found.secondary)]
    assert [span.text.split(",")[0] for span in lines] == ["enqueue(return_out", "enqueue(part_out"]
    assert found.notes == (
        "each waits for the next: L1Cache `part_in` → Directory `return_in` → L1Cache `part_in`",
        "room in the buffers of the system: `returnToHome` of L1Cache: 1, `returnFromCache` of "
        "Directory: 3, `toCache` of Directory: 4, `fromHome` of L1Cache: 2",
    )


@pytest.mark.parametrize("unbounded", BOUNDED)
def test_one_buffer_without_a_bound_is_enough(unbounded: tuple[str, str]) -> None:
    left = {buffer: room for buffer, room in BOUNDED.items() if buffer != unbounded}
    assert circles(ANSWERED, left) == []


def test_a_chain_that_ends_is_no_circle() -> None:
    assert circles(SMALL, BOUNDED) == []


def test_a_stalled_head_waits_for_what_is_behind_it_in_every_system() -> None:
    (found,) = circles(STALLED)
    assert found.primary.span.text.startswith("W, Part")
    assert found.secondary == ()
    assert "no buffer of it need be full" in found.notes[1]


def test_another_port_that_leads_out_ends_the_wait() -> None:
    other = STALLED.replace(
        "transition(W, Load) { z_stall; }", "transition(W, Load, I) { f_free; }"
    )
    assert circles(other) == []
