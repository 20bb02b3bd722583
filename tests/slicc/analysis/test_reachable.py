"""What findings of walks say."""

from __future__ import annotations

from slicc.analysis import analyse
from slicc.compiler import compile_text
from tests.slicc.analysis.small_protocol import SMALL


def test_an_error_is_reached_with_what_is_known_of_the_message() -> None:
    counted = 'action(c_count, "c") {'
    assert SMALL.count(counted) == 1
    protocol = compile_text(SMALL.replace(counted, f'{counted} error("here");'))
    assert protocol is not None
    found = {each.headline for each in analyse(protocol, steps=300)}
    assert "machine `L1Cache` gets here with a message of `Directory`" in found
