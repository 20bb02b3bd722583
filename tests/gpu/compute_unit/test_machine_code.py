"""The bytes of the tests' programs are what an assembler makes of their text."""

from __future__ import annotations

import pytest

from tests.gpu.compute_unit.machine_code import assemble, assembler, code, names, text


@pytest.mark.parametrize("name", names())
def test_bytes_are_those_of_the_text(name: str) -> None:
    llvm_mc = assembler()
    if llvm_mc is None:
        pytest.skip("no llvm-mc on PATH")
    assert assemble(llvm_mc, text(name)) == code(name)
