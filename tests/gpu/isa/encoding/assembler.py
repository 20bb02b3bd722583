"""An assembler for AMDGPU, if this machine has one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ASSEMBLER = next(
    (
        found
        for suffix in (*(f"-{release}" for release in range(29, 13, -1)), "")
        if (found := shutil.which(f"llvm-mc{suffix}"))
    ),
    None,
)
"""llvm-mc of the newest release there is."""

_ENCODING = re.compile(r"encoding: \[([^\]]*)\]")


def assemble(
    lines: list[str],
    directory: Path,
    assembler: str | None = ASSEMBLER,
    processor: str = "gfx803",
) -> list[bytes]:
    """The bytes of each line."""
    assert assembler is not None
    source = directory / "lines.s"
    source.write_text("".join(f"{line}\n" for line in lines))
    command = [assembler, "-arch=amdgcn", f"-mcpu={processor}", "-show-encoding", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    encodings = [
        bytes(int(octet, 16) for octet in found[1].split(","))
        for found in map(_ENCODING.search, done.stdout.splitlines())
        if found
    ]
    assert len(encodings) == len(lines)
    return encodings
