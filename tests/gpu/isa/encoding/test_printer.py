"""Our text is LLVM's: on stored samples always, on all stored kernels where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.code_object.targets import RUNNABLE
from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode
from gpu.isa.encoding.printer import mnemonic, text
from tests.gpu.isa.encoding.objdump import (
    COMPILED,
    DISASSEMBLER,
    ENCODED,
    LATER,
    configurations,
    later_forms,
    listing,
    read_sample,
)
from tests.gpu.isa.encoding.random_words import every_form
from tests.gpu.kernels.stored import CONFIGURATIONS, stored_bytes
from tests.sampling import MATRIX

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


SAMPLES = {COMPILED: Generation.GFX8, ENCODED: Generation.GFX8, LATER: Generation.GFX9}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_stored_sample(sample: Path) -> None:
    for words, shown in read_sample(sample):
        second = words[1] if len(words) > 1 else None
        instruction = decode(words[0], second, generation=SAMPLES[sample])
        assert (text(instruction), instruction.size) == (shown, 4 * len(words))


def test_the_sample_holds_every_opcode_in_every_form() -> None:
    decoded = [decode(words[0], words[-1]) for words, _ in read_sample(ENCODED)]
    forms = {(instruction.opcode.key, instruction.form) for instruction in decoded}
    assert {(opcode.key, form) for opcode, form in every_form()} == forms
    assert len({mnemonic(instruction) for instruction in decoded}) > 1200
    later = [
        decode(words[0], words[-1], generation=Generation.GFX9) for words, _ in read_sample(LATER)
    ]
    forms = {(instruction.opcode.key, instruction.form) for instruction in later}
    assert {(opcode.key, form) for opcode, form in later_forms()} == forms


@pytest.mark.skipif(DISASSEMBLER is None, reason="no llvm-objdump on PATH")
@pytest.mark.parametrize(("configuration", "processor"), STORED)
def test_all_stored_kernels(configuration: str, processor: str, tmp_path: Path) -> None:
    seen = set()
    for source in CONFIGURATIONS[configuration].sources:
        for words, shown in listing(stored_bytes(source, configuration), tmp_path, processor):
            if (*words, shown) in seen:
                continue
            seen.add((*words, shown))
            second = words[1] if len(words) > 1 else None
            instruction = decode(words[0], second, generation=RUNNABLE[processor])
            assert (text(instruction), instruction.size) == (shown, 4 * len(words))
