"""Small programs of the tests: text for people, bytes for the tests, in one file each.

``code/NAME.s`` ends in comment lines ``// bytes:`` with what an assembler makes of the text, so
that the tests need none. ``python -m tests.gpu.compute_unit.machine_code`` writes these lines anew
(needs llvm-mc and llvm-objcopy); `test_machine_code` compares them when llvm-mc is installed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

FOLDER = Path(__file__).parent / "code"
MARK = "// bytes: "
PER_LINE = 32


@cache
def code(name: str) -> bytes:
    """The bytes of one program."""
    lines = (FOLDER / f"{name}.s").read_text().splitlines()
    return bytes.fromhex("".join(line[len(MARK) :] for line in lines if line.startswith(MARK)))


def text(name: str) -> str:
    """Its text, without the bytes."""
    lines = (FOLDER / f"{name}.s").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith(MARK)) + "\n"


def names() -> list[str]:
    """All programs."""
    return sorted(path.stem for path in FOLDER.glob("*.s"))


def assembler() -> str | None:
    """Some version of llvm-mc, if there is one."""
    found = (shutil.which(f"llvm-mc{suffix}") for suffix in ("", "-14", "-19", "-17", "-16"))
    return next((path for path in found if path), None)


def assemble(llvm_mc: str, source: str) -> bytes:
    """What llvm-mc makes of a text; its first line may name a processor, ``// gfx900``."""
    first = source.splitlines()[0].split()
    processor = first[1] if first[0] == "//" and first[1].startswith("gfx") else "gfx803"
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "code.o")
        command = [llvm_mc, "-triple=amdgcn--amdhsa", f"-mcpu={processor}", "-filetype=obj", "-o"]
        subprocess.run([*command, str(made)], input=source, text=True, check=True, timeout=60)
        with made.open("rb") as file:
            return bytes(ELFFile(file).get_section_by_name(".text").data())


def main() -> None:
    """Write the bytes of every program."""
    llvm_mc = assembler()
    if llvm_mc is None:
        raise SystemExit("no llvm-mc on PATH")
    for name in names():
        made = assemble(llvm_mc, text(name))
        parts = [made[place : place + PER_LINE] for place in range(0, len(made), PER_LINE)]
        lines = [MARK + part.hex() for part in parts]
        (FOLDER / f"{name}.s").write_text(text(name) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
