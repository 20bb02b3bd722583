"""The short way to the last contents of memory agrees with the long one."""

from __future__ import annotations

import numpy as np
import pytest

from tester.blame import line_writers
from tester.expectations import final_memory, touched_lines
from tester.final_contents import final_contents
from tests.tester.programs import small


@pytest.mark.parametrize("seed", range(12))
def test_both_ways_agree(seed: int) -> None:
    program = small(seed)
    final = final_contents(program, touched_lines(program))
    addresses, contents = final_memory(program)
    assert np.array_equal(final.addresses, addresses)
    assert np.array_equal(final.contents, contents)
    writers = line_writers(program)
    assert final.writers.tolist() == [writers.get(line, -1) for line in final.lines.tolist()]
