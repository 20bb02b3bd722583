"""The command ``gcn``: looks at code objects and runs their kernels.

Every command parses, calls one function, and turns its result into an exit status.

    0    fine                                    2    bad input, said in one message
    1    the run found something: a race, a      70   a fault of ours, with its traceback
         wrong value                             130  interrupted (129, 143: by a signal)

Invariant: importing this module imports nothing heavy; ``gcn --help`` answers at once.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from gpu.cli.common.parameters import File, KernelName
from gpu.cli.run.command import Engine, run
from slicc.cli.exit_status import FINE, FOUND, Stop, heed_endings, run_command
from slicc.cli.version import version_option

app = typer.Typer(
    name="gcn",
    help="Look at GCN3 code objects and run their kernels on a model of a GPU.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def options(version: Annotated[bool, version_option("gcn")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""


class Form(StrEnum):
    TEXT = "text"
    JSON = "json"


@app.command()
def info(
    file: File,
    format: Annotated[
        Form, typer.Option("--format", help="For people or for programs.")
    ] = Form.TEXT,
) -> None:
    """Target, version and kernels: registers, LDS, scratch, arguments."""
    from gpu.cli.common.files import open_code_object
    from gpu.cli.inspect.info import as_data, as_text

    code_object = open_code_object(file)
    if format is Form.JSON:
        from slicc.text.data import json_text

        print(json_text(as_data(code_object), indent=2))
    else:
        print("\n".join(as_text(code_object)))


@app.command()
def disasm(
    file: File,
    kernel: Annotated[
        str | None, typer.Option("--kernel", metavar="NAME", help="Only this one.")
    ] = None,
) -> None:
    """Machine code as text that an LLVM assembler takes back."""
    from gpu.cli.common.files import open_code_object
    from gpu.cli.inspect.disasm import disassemble

    for line in disassemble(open_code_object(file), kernel):
        print(line)


@app.command()
def occupancy(
    file: File,
    kernel: KernelName,
    group: Annotated[
        str, typer.Option("--group", metavar="X[,Y[,Z]]", help="Work-items of a group.")
    ] = "",
    local: Annotated[
        int, typer.Option("--local", metavar="BYTES", help="LDS beyond what the kernel declares.")
    ] = 0,
) -> None:
    """How many groups fit one compute unit, and what stops the next one."""
    from gpu.cli.common.files import open_code_object, runnable_kernel
    from gpu.cli.inspect.occupancy import as_text

    found = runnable_kernel(open_code_object(file), kernel)
    print("\n".join(as_text(found, group, local)))


app.command()(run)


@app.command()
def replay(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What gcn run --record wrote.", show_default=False),
    ],
    engine: Annotated[
        Engine, typer.Option("--engine", help="What runs the caches, as for gcn run.")
    ] = Engine.AUTO,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Another one than was recorded.")
    ] = None,
    tccs: Annotated[
        int | None, typer.Option("--tccs", min=1, max=64, help="Other banks than were recorded.")
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option(
            "--include",
            "-I",
            metavar="DIR",
            help="Where files may lie that the recording names, besides the working directory.",
        ),
    ] = None,
) -> None:
    """What kernels asked of memory, asked again at the same ticks; nobody waits for answers."""
    from gpu.cli.run.replay import replay_file

    raise typer.Exit(FINE if replay_file(file, engine.value, seed, tccs, include or []) else FOUND)


def main() -> NoReturn:
    """Entry point of the ``gcn`` command."""

    def in_words(error: Exception) -> Stop | None:
        from gpu.cli import error_messages

        return error_messages.in_words(error)

    fault = "this is a fault of the model, not of your kernel"
    heed_endings()
    sys.exit(run_command("gcn", app, in_words, fault))
