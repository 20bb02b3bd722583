"""Stored kernels of all compilers: all of their code is instructions that are carried out."""

from __future__ import annotations

import pytest

from gpu.code_object.targets import RUNNABLE
from gpu.isa.encoding.disassembler import disassemble
from tests.gpu.isa.encoding.objdump import configurations
from tests.gpu.kernels.stored import CONFIGURATIONS, stored
from tests.sampling import MATRIX

EXECUTED = 1
"""The tier of opcodes that are executed."""
STORED = [
    pytest.param(
        name,
        processor,
        marks=MATRIX if "-O0" in name or ("clang14" in name) != (processor == "gfx803") else (),
    )
    for processor in RUNNABLE
    for name in configurations(processor)
]
"""In the suite, the older compiler's code for one processor and the newer one's for the other."""


@pytest.mark.parametrize(("configuration", "processor"), STORED)
def test_all_code_is_carried_out(configuration: str, processor: str) -> None:
    met = set()
    for source in CONFIGURATIONS[configuration].sources:
        code_object = stored(source, configuration)
        kernels = code_object.kernels
        places = [(kernel.entry, kernel.code_size) for kernel in kernels.values()]
        places += [
            (function.address, function.size)
            for function in code_object.functions()
            if function.name not in kernels
        ]
        for address, size in places:
            code = code_object.elf.read(address, size) or b""
            for line in disassemble(code, address, RUNNABLE[processor]):
                assert line.instruction is not None, f"{source}: {line}"
                assert line.instruction.opcode.tier == EXECUTED, f"{source}: {line}"
                met.add(line.instruction.opcode.key)
    assert len(met) > (180 if len(CONFIGURATIONS[configuration].sources) > 20 else 25)
