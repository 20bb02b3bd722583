"""What tests compile with, where a clang for AMDGPU is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpu.code_object import CodeObject
from gpu.code_object.opencl.compiler import compile_kernels, compiler_version, find_compiler


@pytest.fixture(scope="session")
def compiled_with() -> Callable[[Path, str], CodeObject]:
    """Compiles a file at a level of optimisation, around the compilers' bugs of ``docs/gpu.md``."""

    def compiled(source: Path, level: str) -> CodeObject:
        clang = find_compiler()
        if clang is None:
            pytest.skip("no clang that compiles for AMDGPU")
        major = int(compiler_version(clang).split(".")[0])
        if (major, level) == (16, "-O0"):
            pytest.skip("clang 16 loads registers before it restores EXEC")
        version = ("-mcode-object-version=4",) if major >= 22 else ()
        return CodeObject.from_bytes(compile_kernels(source, clang, options=(level, *version)))

    return compiled
