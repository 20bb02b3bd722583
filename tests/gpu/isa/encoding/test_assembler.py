"""An assembler makes the same bytes of what the printer prints: every opcode in every form."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpu.isa.encoding.printer import text
from tests.gpu.isa.encoding.assembler import ASSEMBLER, assemble
from tests.gpu.isa.encoding.random_words import an_instruction, every_form

pytestmark = pytest.mark.skipif(ASSEMBLER is None, reason="no llvm-mc on PATH")


@pytest.mark.parametrize("seed", range(3))
def test_random_fields_of_every_opcode(seed: int, tmp_path: Path) -> None:
    prng = random.Random(seed)
    cases = [an_instruction(prng, opcode, form) for opcode, form in every_form()]
    lines = [text(instruction) for _, instruction in cases]
    for line, (words, _), assembled in zip(lines, cases, assemble(lines, tmp_path)):
        assert assembled == b"".join(word.to_bytes(4, "little") for word in words), line
