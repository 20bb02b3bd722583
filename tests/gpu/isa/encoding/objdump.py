"""What LLVM's disassembler prints for a code object, and a sample of it.

``python -m tests.gpu.isa.encoding.objdump`` writes the samples again; it needs llvm-objdump and
llvm-mc.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode
from gpu.isa.encoding.printer import text
from gpu.isa.instruction import Opcode
from tests.gpu.isa.encoding.assembler import assemble
from tests.gpu.isa.encoding.random_words import an_instruction, every_form
from tests.gpu.kernels.stored import CONFIGURATIONS, stored_bytes

HERE = Path(__file__).parent
COMPILED = HERE / "compiled.txt"
"""Instructions of compiled kernels, one of each mnemonic and shape of operands."""
ENCODED = HERE / "encoded.txt"
"""One instruction of every opcode and form, as the assembler encodes it."""
LATER = HERE / "encoded-gfx900.txt"
"""Likewise of the rows that GFX9 introduced."""
SEED = 20

DISASSEMBLER = next(
    (
        found
        for suffix in (*(f"-{release}" for release in range(29, 13, -1)), "")
        if (found := shutil.which(f"llvm-objdump{suffix}"))
    ),
    None,
)
_LINE = re.compile(r"\t(\S.*?)\s+// [0-9A-F]{12}: ((?:[0-9A-F]{8} ?)+)")
Listed = tuple[tuple[int, ...], str]
"""Words and text."""


def listing(code_object: bytes, directory: Path, processor: str = "gfx803") -> Iterator[Listed]:
    """Every instruction of a code object."""
    assert DISASSEMBLER is not None
    path = directory / "kernels.co"
    path.write_bytes(code_object)
    command = [DISASSEMBLER, "-d", f"--mcpu={processor}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    for found in map(_LINE.match, done.stdout.splitlines()):
        if found and not found[1].startswith("."):
            yield tuple(int(word, 16) for word in found[2].split()), found[1]


def configurations(processor: str = "gfx803") -> list[str]:
    """Those of a processor."""
    return [name for name, each in CONFIGURATIONS.items() if each.processor == processor]


def read_sample(path: Path) -> list[Listed]:
    sample = []
    for line in path.read_text().splitlines():
        words, _, shown = line.partition("  ")
        sample.append((tuple(int(word, 16) for word in words.split()), shown))
    return sample


def _write(path: Path, sample: list[Listed]) -> None:
    lines = (" ".join(f"{word:08X}" for word in words) + "  " + shown for words, shown in sample)
    path.write_text("\n".join(lines) + "\n")


def _shape(shown: str) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+", "0", shown)


def _compiled(directory: Path) -> list[Listed]:
    chosen: dict[str, Listed] = {}
    for configuration in configurations():
        for source in CONFIGURATIONS[configuration].sources:
            for words, shown in listing(stored_bytes(source, configuration), directory):
                chosen.setdefault(_shape(shown), (words, shown))
    return [chosen[shape] for shape in sorted(chosen)]


def later_forms() -> list[tuple[Opcode, str]]:
    """Of rows that GFX8 does not have."""
    forms = every_form(Generation.GFX9)
    return [(opcode, form) for opcode, form in forms if Generation.GFX8 not in opcode.generations]


def _encoded(
    directory: Path, forms: list[tuple[Opcode, str]], generation: Generation, processor: str
) -> list[Listed]:
    prng = random.Random(SEED)
    cases = [an_instruction(prng, opcode, form, generation)[0] for opcode, form in forms]
    lines = [text(decode(words[0], words[-1], generation=generation)) for words in cases]
    encodings = assemble(lines, directory, processor=processor)
    return [
        (tuple(int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)), line)
        for code, line in zip(encodings, lines)
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        _write(COMPILED, _compiled(Path(scratch)))
        _write(ENCODED, _encoded(Path(scratch), every_form(), Generation.GFX8, "gfx803"))
        _write(LATER, _encoded(Path(scratch), later_forms(), Generation.GFX9, "gfx900"))
