"""What shared ranks do depends on the other ports of the machine."""

from __future__ import annotations

from slicc.compiler import compile_source
from tests.slicc.analysis.small_protocol import SMALL


def test_ports_that_all_have_one_rank_are_woken_here_but_not_in_gem5() -> None:
    text = SMALL
    for port in ("in_port(return_in, Giving, returnFromCache", "in_port(ask_in, Asking, fromCache"):
        assert text.count(port) == 1
        text = text.replace(port, f"{port}, rank=1")
    (found,) = (each for each in compile_source(text).diagnostics if each.slug == "duplicate-rank")
    assert found.primary.text == (
        "in gem5, no wake-up finds what waits there once something waits here"
    )
