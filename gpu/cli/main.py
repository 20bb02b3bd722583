"""The command ``gcn``: inspects code objects and runs their kernels.

Every verb parses, calls one function, and turns its result into an exit status.

    0    fine                                    2    bad input, with one message
    1    the run found something: a race, a      70   a bug of gcn, with its traceback
         wrong value                             130  interrupted (129, 143: by a signal)

Invariant: importing this module imports nothing heavy; ``gcn --help`` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final, NoReturn

from gpu.cli.options import (
    CoreOptions,
    DisasmOptions,
    InfoOptions,
    LitmusOptions,
    OccupancyOptions,
    ReplayOptions,
    with_build_options,
)
from gpu.cli.run.options import LaunchOptions, RunOptions
from slicc.text.command.command_line import new_app
from slicc.text.command.exit_status import Stop, heed_endings, run_command
from slicc.text.command.verb import Verb, imported
from slicc.text.command.version import version_option


def _verb(module: str, options: type[Any], help: str) -> Verb:
    """The function of a module is called as the verb."""
    name = module.rpartition(".")[2]
    return Verb(name, options, imported(f"gpu.cli.{module}", name), help)


VERBS: Final = (
    _verb(
        "inspect.info",
        InfoOptions,
        "Target, version and kernels: registers, LDS, scratch, arguments.",
    ),
    _verb("inspect.disasm", DisasmOptions, "Machine code as text that an LLVM assembler reads."),
    _verb(
        "inspect.occupancy",
        OccupancyOptions,
        "How many groups fit one compute unit, and which resource limits them.",
    ),
    _verb("inspect.core", CoreOptions, "What failed, by a core file: queues, kernels, memory."),
    Verb(
        "run",
        RunOptions,
        imported("gpu.cli.run.session", "run"),
        "Run a kernel: packet, doorbell, waves, caches, completion signal.",
    ),
    _verb(
        "launch.launch",
        LaunchOptions,
        "Run the kernels that a file lists, one after the other.",
    ),
    _verb(
        "run.replay",
        ReplayOptions,
        "Repeat a recorded run's memory requests; or run a leg of gpu-tester on compute units.",
    ),
    _verb(
        "litmus.litmus",
        LitmusOptions,
        "Run litmus tests as kernels, and judge what they end with by the memory model.",
    ),
)

app = new_app(
    "gcn",
    "Look at GCN3 code objects and run their kernels on a model of a GPU.",
    VERBS,
    rewrite=with_build_options,
    no_args_is_help=True,
)


@app.callback()
def options(version: Annotated[bool, version_option("gcn")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""


def main() -> NoReturn:
    """Entry point of the ``gcn`` command."""

    def input_error(error: Exception) -> Stop | None:
        from gpu.cli import error_messages

        return error_messages.input_error(error)

    fault = "this is a fault of the model, not of your kernel"
    heed_endings()
    sys.exit(run_command("gcn", app, input_error, fault))
