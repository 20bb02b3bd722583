"""The short way to the last contents of memory agrees with the long one."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.prng import Prng
from tester.generator.generator import generate_program
from tester.program.expectations import final_memory, touched_lines
from tester.program.final_memory import final_contents
from tester.program.program import Program
from tests.tester.programs import CONFIGS, small


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_agree(seed: int) -> None:
    program = small(seed)
    final = final_contents(program)
    assert np.array_equal(final.lines, touched_lines(program))
    addresses, contents = final_memory(program)
    assert np.array_equal(final.addresses, addresses)
    assert np.array_equal(final.contents, contents)


def last_writers(program: Program) -> tuple[dict[int, int], dict[int, int]]:
    """(byte -> agent, line -> agent), one store after the other."""
    writers: dict[int, int] = {}
    lines: dict[int, int] = {}
    for episode in range(program.episodes):
        agent = int(program.episode_thread[episode])
        for action in program.actions_of(episode):
            if program.action_kind[action] == 1:
                for address in program.lane_address[action].tolist():
                    if address >= 0:
                        lines[address & -64] = agent
                        for byte in range(address, address + int(program.action_size[action])):
                            writers[byte] = agent
    return writers, lines


def test_writers_are_the_last_ones() -> None:
    program = generate_program(CONFIGS["default"], Prng(2))
    writers, lines = last_writers(program)
    final = final_contents(program)
    assert final.writers.tolist() == [lines.get(line, -1) for line in final.lines.tolist()]
    owners = dict(zip(final.addresses.tolist(), final.owners.tolist()))
    words = {int(word) + i for word in program.group_word for i in range(4)}
    assert {byte: owners[byte] for byte in writers} == writers
    untouched = set(owners) - set(writers) - words
    assert untouched and {owners[byte] for byte in untouched} == {-1}
