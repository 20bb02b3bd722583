"""Bitcode of OpenCL's functions for AMDGPU, where a distribution has installed it.

Most kernels call nothing but what the headers beside `compiler` define. The rest (``sin``,
``work_group_scan_inclusive_add``, ...) is in ROCm's device libraries, which the compiler links
function by function: a kernel that calls none of them is the same code with and without them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gpu.code_object.errors import CompileError
from slicc.text.wording import first_few

PACKAGE: Final = "rocm-device-libs"
"""Of Debian and Ubuntu; other distributions call it much the same."""
OPTION: Final = "--device-libs"
_NEEDED: Final = ("opencl.bc", "ocml.bc", "ockl.bc")
_BELOW: Final = ("", "amdgcn/bitcode", "lib/amdgcn/bitcode")
_IMAGE: Final = "ocl_image"
"""In the type of a parameter."""
_MOST_NAMED: Final = 8
_UNDEFINED: Final = re.compile(r"undefined (?:hidden )?symbol: (.+)")
_MADE_BY: Final = re.compile(r"Producer: 'LLVM *(\d+)[^']*' Reader: '([^']+)'")


def find_libraries(given: Path | None = None) -> Path | None:
    """The folder of the bitcode: in the one that is given, else where distributions and ROCm
    install it. Raises `CompileError` if there is none in the given one."""
    for place in [given] if given is not None else _installed():
        for below in _BELOW:
            folder = place / below
            if all((folder / name).is_file() for name in _NEEDED):
                return folder
    if given is not None:
        missing = " and ".join((", ".join(_NEEDED[:-1]), _NEEDED[-1]))
        raise CompileError(f"{OPTION} {given}: there are no device libraries in it ({missing})")
    return None


def _installed() -> Iterator[Path]:
    if "ROCM_PATH" in os.environ:
        yield Path(os.environ["ROCM_PATH"])
    yield Path("/opt/rocm")
    machine = os.uname().machine
    for root in dict.fromkeys((Path("/usr"), Path(sys.prefix))):
        yield root
        yield root / "lib" / f"{machine}-linux-gnu"
    yield from sorted(Path("/usr/lib").glob("llvm*/lib/clang/*"), reverse=True)


def undefined_functions(printed: str) -> list[str]:
    """The functions that a linker did not find, in its order."""
    return list(dict.fromkeys(match.strip() for match in _UNDEFINED.findall(printed)))


def missing_text(source: Path, undefined: list[str]) -> str:
    """The message about functions that no header of ours defines, where no library is."""
    images = [name for name in undefined if _IMAGE in name]
    if images:
        return f"{source}: {images[0]}: images are not modelled, with device libraries or without"
    names = first_few(undefined, _MOST_NAMED)
    return (
        f"{source}: no device libraries were found, which have {names}; install them "
        f"(Debian and Ubuntu: {PACKAGE}), or name their folder with {OPTION}"
    )


class TooNew(CompileError):
    """A compiler could not read libraries that a later one, of version ``made_by``, made."""

    def __init__(self, source: Path, folder: Path, made_by: int, reader: str) -> None:
        super().__init__(
            f"{source}: the device libraries in {folder} cannot be read by {reader}: install "
            f"clang-{made_by} or a later one, with its lld, or name others with {OPTION}"
        )
        self.made_by = made_by


def explained(error: CompileError, source: Path, folder: Path) -> CompileError:
    """The error of a compiler that was given libraries, in clearer words where there are some."""
    versions = _MADE_BY.search(str(error))
    return error if versions is None else TooNew(source, folder, int(versions[1]), versions[2])
