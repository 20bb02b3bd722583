"""An assembler makes the same bytes of what the printer prints: every opcode in every form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpu.code_object.targets import RUNNABLE
from gpu.isa.encoding.printer import text
from tests.gpu.isa.encoding.assembler import ASSEMBLER, assemble
from tests.gpu.isa.encoding.random_words import an_instruction, every_form
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(ASSEMBLER is None, reason="no llvm-mc on PATH")


@pytest.mark.parametrize("seed", sampled(range(3), 3))
@pytest.mark.parametrize("processor", RUNNABLE)
def test_random_fields_of_every_opcode(processor: str, seed: int, tmp_path: Path) -> None:
    prng, generation = random.Random(seed), RUNNABLE[processor]
    cases = [
        an_instruction(prng, opcode, form, generation) for opcode, form in every_form(generation)
    ]
    lines = [text(instruction) for _, instruction in cases]
    encodings = assemble(lines, tmp_path, processor=processor)
    for line, (words, _), assembled in zip(lines, cases, encodings):
        assert assembled == b"".join(word.to_bytes(4, "little") for word in words), line
