"""The compiled kernels that tests run, kept so that no test needs a compiler.

``objects/CONFIGURATION.zip`` holds one code object per ``.cl`` file beside this module. Run this
module to build them again:

    python -m tests.gpu.kernels.stored [CONFIGURATION ...]
"""

from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpu.code_object import CodeObject
from gpu.code_object.opencl.compiler import compile_kernels, compiler_version, first_able

HERE = Path(__file__).parent
SOURCES = tuple(sorted(path.stem for path in HERE.glob("*.cl")))


@dataclass(frozen=True)
class Configuration:
    """One way of compiling every source."""

    compiler: str
    options: tuple[str, ...]
    sources: tuple[str, ...] = SOURCES
    processor: str = "gfx803"


CONFIGURATIONS = {
    "clang14-O2": Configuration("clang-14", ("-O2",)),
    "clang19-O2": Configuration("clang-19", ("-O2",)),
    "clang14-O0": Configuration("clang-14", ("-O0",)),
    "clang14-O2-v2": Configuration(
        "clang-14", ("-O2", "-mcode-object-version=2"), ("vadd", "pointers", "reduce", "scratch")
    ),
    "clang14-O2-v3": Configuration("clang-14", ("-O2", "-mcode-object-version=3"), ("flatgen",)),
    "clang19-O2-v6": Configuration("clang-19", ("-O2", "-mcode-object-version=6"), ("flatgen",)),
    "clang14-O2-gfx900": Configuration("clang-14", ("-O2",), processor="gfx900"),
    "clang19-O2-gfx900": Configuration("clang-19", ("-O2",), processor="gfx900"),
    "clang14-O0-gfx900": Configuration("clang-14", ("-O0",), processor="gfx900"),
    "clang19-O2-gfx1030": Configuration("clang-19", ("-O2",), ("vadd",), "gfx1030"),
}


@cache
def stored_bytes(source: str, configuration: str = "clang14-O2") -> bytes:
    """One stored code object."""
    with zipfile.ZipFile(HERE / "objects" / f"{configuration}.zip") as archive:
        return archive.read(f"{source}.co")


@cache
def stored(source: str, configuration: str = "clang14-O2") -> CodeObject:
    """One stored code object, read."""
    data = stored_bytes(source, configuration)
    return CodeObject.from_bytes(data, f"{configuration}/{source}.co")


def build(source: str, configuration: Configuration) -> bytes:
    """Compile one source. Raises `gpu.code_object.CompileError`."""
    return compile_kernels(
        HERE / f"{source}.cl",
        configuration.compiler,
        configuration.processor,
        configuration.options,
    )


def main(names: list[str]) -> None:
    """Write the archives anew; the same compilers give the same bytes."""
    for name in names or CONFIGURATIONS:
        configuration = CONFIGURATIONS[name]
        clang = first_able(configuration.compiler)
        if clang is None:
            print(f"{name}: no {configuration.compiler} that links for AMDGPU, left as it is")
            continue
        path = HERE / "objects" / f"{name}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for source in configuration.sources:
                entry = zipfile.ZipInfo(f"{source}.co")
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, build(source, configuration))
            archive.comment = compiler_version(clang).encode()
        print(f"{name}: {len(configuration.sources)} objects, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
