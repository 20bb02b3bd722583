"""Files that the command line names: code objects, sources that become one, and outputs."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from gpu.cli.options import SourceOptions
from gpu.code_object import DEFAULT_PROCESSOR, CodeObject, CodeObjectError, Kernel
from gpu.code_object.code_object import meant
from gpu.code_object.opencl.device_libraries import OPTION
from slicc.text.files import why_lost


class OutputError(ValueError):
    """A file would be lost."""


def open_code_object(path: Path, options: SourceOptions) -> CodeObject:
    """Read a code object; compile a ``.cl`` or ``.clcpp`` file first.

    A bare name without a file of that name means a shipped example. Raises `CodeObjectError`, and
    `CompileError` for sources.
    """
    from gpu.code_object.opencl.compiler import LINE_TABLES, SUFFIXES, compile_kernels

    path = meant(path)
    if path.suffix in SUFFIXES:
        flags = ("-O2", LINE_TABLES, *options.source_options)
        processor = options.target or DEFAULT_PROCESSOR
        made = compile_kernels(path, None, processor, flags, options.device_libs)
        return CodeObject.from_bytes(made, str(path))
    given = {
        "-D, -I, -cl-": options.source_options,
        OPTION: options.device_libs,
        "--target": options.target,
    }
    for name, value in given.items():
        if value:
            raise CodeObjectError(str(path), f"{name}: it is compiled already")
    return CodeObject.load(path)


def runnable_kernel(code_object: CodeObject, name: str) -> Kernel:
    """One kernel. Raises `CodeObjectError` if there is none of that name, or it cannot run."""
    kernel = code_object[name]
    refusals = kernel.refusals()
    if refusals:
        raise CodeObjectError(code_object.path, f"kernel {name} cannot run: {'; '.join(refusals)}")
    return kernel


def check_outputs(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """What is written, and what is read, by what it is. Raises OutputError and OSError."""
    for path in outputs.values():
        check_writable(path)
    lost = why_lost(outputs, inputs.items())
    if lost is not None:
        raise OutputError(lost)


def check_writable(path: Path) -> None:
    """Raises OSError if the file is known in advance not to be writable."""
    if path.is_dir():
        raise _refused(errno.EISDIR, path)
    if not path.parent.is_dir():
        raise _refused(errno.ENOENT, path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _refused(errno.EACCES, path)


def _refused(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
