"""The command ``slicc``.

Every command is a verb and its files: it compiles them, hands the result to one function, and
turns what was found into an exit status. Results go to stdout, diagnostics to stderr.

    0  fine (warnings included)        2  called wrongly, cannot read or write
    1  a protocol has errors          70  a fault of the compiler itself

Invariant: importing this module imports nothing heavy; ``slicc --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slicc.cli.exit_status import MISUSED, Stop, heed_endings, run_command
from slicc.cli.session import Color, DiagnosticFormat, compiling, counted
from slicc.cli.version import version_option

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol

app = typer.Typer(
    name="slicc",
    help="Compile SLICC cache-coherence protocols, check them, and show their state machines.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Engine(StrEnum):
    PYTHON = "python"
    NATIVE = "native"


class GraphFormat(StrEnum):
    DOT = "dot"
    SVG = "svg"
    PNG = "png"


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Drivers (.slicc), or .sm files: these stand for the drivers beside them that "
        "include them.",
        show_default=False,
    ),
]
Include = Annotated[
    list[Path] | None,
    typer.Option(
        "--include",
        metavar="DIR",
        help="A further directory to read included files from. Repeatable.",
        show_default=False,
    ),
]
Preludes = Annotated[
    list[Path] | None,
    typer.Option(
        "--prelude",
        metavar="FILE",
        help="Types, functions and constants that the protocols use and the runtime lacks. "
        "Repeatable.",
        show_default=False,
    ),
]
Format = Annotated[
    DiagnosticFormat,
    typer.Option("--format", "--diagnostics", help="How findings are written to stderr."),
]
GraphDiagnostics = Annotated[
    DiagnosticFormat, typer.Option("--diagnostics", help="How findings are written to stderr.")
]
Colors = Annotated[Color, typer.Option("--color", help="Whether findings are coloured.")]


# ------------------------------------------------------------------ commands


@app.command()
def check(
    files: Files,
    include: Include = None,
    prelude: Preludes = None,
    format: Format = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Report everything that is wrong with protocols."""
    with compiling(files, include, prelude, format, color) as session:
        for compiled in session.protocols:
            machines = compiled.protocol.machines
            cells = sum(len(machine.cells) for machine in machines)
            print(
                f"{compiled.protocol.name}: {counted(len(machines), 'machine')}, "
                f"{counted(cells, 'transition')}"
            )


@app.command("compile")
def compile_(
    files: Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write packages.")
    ] = Path("controllers"),
    engine: Annotated[
        Engine,
        typer.Option(
            "--engine",
            help="python: a package of controllers. native: C++ sources, compiled at once, so that "
            "the tester need not do it.",
        ),
    ] = Engine.PYTHON,
    include: Include = None,
    prelude: Preludes = None,
    format: Format = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Write each protocol as a package of Python controllers, or as C++."""
    with compiling(files, include, prelude, format, color) as session:
        session.require_different_names()
        session.require_directory(output)
        for compiled in session.protocols:
            try:
                if engine is Engine.NATIVE:
                    _write_native(compiled, output)
                else:
                    _write_python(compiled, output)
            except OSError as error:
                error.filename = error.filename or output  # a full disk does not say where
                raise


def _write_python(compiled: CompiledProtocol, output: Path) -> None:
    from slicc.codegen.python.errors import GenerationError
    from slicc.codegen.python.writer import write_package

    try:
        print(write_package(compiled.protocol, output))
    except GenerationError as error:
        raise Stop(str(error)) from None


def _write_native(compiled: CompiledProtocol, output: Path) -> None:
    """Sources into ``output``, the object into the user's cache, where the tester looks for it."""
    from runtime.native.build import Sizes, Sources, build, recipe
    from runtime.native.ctypes_api import LibraryError
    from runtime.native.toolchain.compiler import ToolchainError, find_compiler
    from runtime.native.toolchain.object_cache import CacheError, user_cache
    from slicc.codegen.cpp import Unsupported, package
    from slicc.codegen.cpp.machine_shape import FILE_NAME, shape_text
    from slicc.codegen.files import write_file

    try:
        made = package(compiled.protocol)
        sources = Sources(made.name, {**made.files, FILE_NAME: shape_text(compiled.protocol)})
        directory = output / f"{made.name}_native"
        for name, text in sources.files.items():
            write_file(directory / name, text.encode("utf-8", "surrogatepass"))
        print(directory)
        cache = user_cache()
        library = build(recipe(sources, Sizes.of(64, 1), find_compiler()), cache)
    except (Unsupported, ToolchainError, CacheError, LibraryError) as error:
        raise Stop(str(error)) from None
    if cache.note:
        print(f"slicc: {cache.note}", file=sys.stderr)
    print(library.path)


@app.command()
def graph(
    files: Files,
    format: Annotated[
        GraphFormat, typer.Option("--format", help="dot is text; svg and png need Graphviz.")
    ] = GraphFormat.DOT,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write graphs.")
    ] = Path("graphs"),
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="M", help="Only this machine.")
    ] = None,
    include: Include = None,
    prelude: Preludes = None,
    diagnostics: GraphDiagnostics = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Draw the states of each machine and the transitions between them."""
    with compiling(files, include, prelude, diagnostics, color) as session:
        from slicc.codegen.files import write_file
        from slicc.codegen.state_diagram import GraphvizMissing, render_diagram, state_diagram

        session.require_different_names()
        session.require_directory(output)
        session.require_machine(machine)
        for compiled in session.protocols:
            for each in compiled.protocol.machines:
                if machine is None or each.name == machine:
                    name = f"{compiled.protocol.name}-{each.name}.{format.value}"
                    diagram = state_diagram(each, compiled.protocol.name)
                    try:
                        content = render_diagram(diagram, format.value)
                    except GraphvizMissing as error:
                        raise Stop(str(error)) from None
                    print(write_file(output / name, content))


@app.command()
def table(
    files: Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write tables.")
    ] = Path("tables"),
    include: Include = None,
    prelude: Preludes = None,
    format: Format = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Write the tables of states and events as HTML pages."""
    with compiling(files, include, prelude, format, color) as session:
        from slicc.codegen.files import write_file
        from slicc.codegen.transition_table import protocol_page

        session.require_different_names()
        session.require_directory(output)
        for compiled in session.protocols:
            page = protocol_page(compiled.protocol, compiled.sources)
            print(write_file(output / f"{compiled.protocol.name}.html", page.encode()))


@app.command()
def ir(
    files: Files,
    include: Include = None,
    prelude: Preludes = None,
    format: Format = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Print what the compiler understood of protocols."""
    with compiling(files, include, prelude, format, color) as session:
        from slicc.ir.printer import print_protocol

        for compiled in session.protocols:
            print(print_protocol(compiled.protocol), end="")


@app.command()
def system(
    protocol: Annotated[
        Path,
        typer.Argument(
            metavar="PROTOCOL", help="A driver or .sm file, or a shipped protocol's name."
        ),
    ],
    start: Annotated[
        Path | None,
        typer.Option("--system", metavar="TOML", help="A description to complete."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="A field to change. Repeatable."),
    ] = None,
    include: Include = None,
    prelude: Preludes = None,
    format: Format = DiagnosticFormat.TEXT,
    color: Colors = Color.AUTO,
) -> None:
    """Print the system that a protocol is tested in, as a TOML file to edit."""
    from slicc.cli.system import SystemRefused, file_of, system_text

    with compiling([file_of(protocol)], include, prelude, format, color) as session:
        session.require_different_names()
        for compiled in session.protocols:
            try:
                print(system_text(compiled, start, assignments or []), end="")
            except SystemRefused as error:
                raise Stop(str(error)) from None


@app.command()
def explain(
    slug: Annotated[
        str | None,
        typer.Argument(
            metavar="[SLUG]", help="The word in brackets behind `error`.", show_default=False
        ),
    ] = None,
) -> None:
    """Explain a finding, or list all that there are."""
    from slicc.diagnostics.registry import AREAS, CODES
    from slicc.diagnostics.suggest import suggest

    if slug is None:
        width = max(map(len, CODES))
        for area, codes in AREAS.items():
            print(f"{area}:")
            for code in codes:
                print(f"  {code.slug:{width}}  {code.title}")
        return
    name = slug.strip().removeprefix("error").removeprefix("warning").strip("[]: ")
    if name in CODES:
        print(CODES[name].page, end="")
        return
    close = suggest(name, CODES)
    hint = f"did you mean `{close}`?" if close else "`slicc explain` lists all findings"
    print(f"slicc: there is no finding `{slug}`; {hint}", file=sys.stderr)
    raise typer.Exit(MISUSED)


@app.callback()
def options(version: Annotated[bool, version_option("slicc")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""


# ------------------------------------------------------------------ entry


def main() -> None:
    """The console script: run, and end with a status whatever happens."""
    heed_endings()
    sys.exit(run(app))


def run(command: Callable[[], object]) -> int:
    """The exit status of a command of ``slicc``."""
    # Trees are as deep as slicc.parser.limits allows; walking them takes a few frames per level.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
    fault = "this is a fault of the compiler, not of your protocol; please report it with its files"
    return run_command("slicc", command, _in_words, fault)


def _in_words(error: Exception) -> Stop | None:
    if not isinstance(error, OSError):
        return None
    where = f" {error.filename}" if error.filename is not None else ""
    return Stop(f"cannot read or write{where}: {error.strerror or error}")


if __name__ == "__main__":
    main()
