"""``slicc compile``: protocols as packages of Python controllers, or as C++."""

from __future__ import annotations

import sys
from pathlib import Path

from slicc.cli.options import CompileOptions, Engine
from slicc.cli.session import compiling
from slicc.compiled import CompiledProtocol
from slicc.text.command.exit_status import Stop


def compile(options: CompileOptions) -> None:
    """Write each protocol below the directory that was named."""
    output = options.output
    with compiling(options.files, options) as session:
        session.require_different_names()
        session.require_directory(output)
        for compiled in session.protocols:
            try:
                if options.engine is Engine.NATIVE:
                    _write_native(compiled, output)
                else:
                    _write_python(compiled, output)
            except OSError as error:
                error.filename = error.filename or output  # the error of a full disk has none
                raise


def _write_python(compiled: CompiledProtocol, output: Path) -> None:
    from slicc.codegen.python.errors import GenerationError
    from slicc.codegen.python.writer import write_package

    try:
        print(write_package(compiled.protocol, output))
    except GenerationError as error:
        raise Stop(str(error)) from None


def _write_native(compiled: CompiledProtocol, output: Path) -> None:
    """Sources into ``output``, the object for external clients into the user's cache."""
    from runtime.native.build import Sizes, Sources, build, recipe
    from runtime.native.ctypes_api import LibraryError
    from runtime.native.external_requester import EXTERNAL_CLIENTS
    from runtime.native.toolchain.compiler import ToolchainError, find_compiler
    from runtime.native.toolchain.object_cache import CacheError, user_cache
    from slicc.codegen.cpp import Unsupported, package
    from slicc.codegen.cpp.machine_shape import FILE_NAME, shape_text
    from slicc.text.files import write_whole

    try:
        made = package(compiled.protocol)
        sources = Sources(made.name, {**made.files, FILE_NAME: shape_text(compiled.protocol)})
        directory = output / f"{made.name}_native"
        for name, text in sources.files.items():
            write_whole(directory / name, text.encode("utf-8", "surrogatepass"), parents=True)
        print(directory)
        cache = user_cache()
        how = recipe(sources, EXTERNAL_CLIENTS, Sizes.of(64, 1), find_compiler())
        library = build(how, EXTERNAL_CLIENTS, cache)
    except (Unsupported, ToolchainError, CacheError, LibraryError) as error:
        raise Stop(str(error)) from None
    if cache.note:
        print(f"slicc: {cache.note}", file=sys.stderr)
    print(library.path)
