"""The command ``slicc``.

Every verb compiles its files, hands the result to one function, and turns what was found into an
exit status. Results go to stdout, diagnostics to stderr.

    0  fine (warnings included)        2  called wrongly, cannot read or write
    1  a protocol has errors          70  a fault of the compiler itself

Invariant: importing this module imports nothing heavy; ``slicc --help`` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any, Final

from slicc.cli.options import (
    BookOptions,
    CheckOptions,
    CiOptions,
    CompileOptions,
    DiffOptions,
    ExplainOptions,
    GraphOptions,
    IrOptions,
    LspOptions,
    NewOptions,
    SystemOptions,
    TableOptions,
)
from slicc.text.command.command_line import Verb, imported, new_app
from slicc.text.command.exit_status import Stop, heed_endings, run_command
from slicc.text.command.version import version_option


def _verb(name: str, options: type[Any], help: str) -> Verb:
    return Verb(name, options, imported(f"slicc.cli.verbs.{name}", name), help)


VERBS: Final = (
    _verb("new", NewOptions, "Write a small working protocol to start from."),
    _verb("check", CheckOptions, "Report everything that is wrong with protocols."),
    _verb(
        "compile",
        CompileOptions,
        "Write each protocol as a package of Python controllers, or as C++.",
    ),
    _verb(
        "graph",
        GraphOptions,
        "Draw the states of each machine and the transitions between them.",
    ),
    _verb("table", TableOptions, "Write the tables of states and events as HTML pages."),
    _verb("book", BookOptions, "Write all that is known of a protocol as pages that link."),
    _verb("ir", IrOptions, "Print what the compiler understood of protocols."),
    _verb(
        "system",
        SystemOptions,
        "Print the system that a protocol is tested in, as a TOML file to edit.",
    ),
    _verb("diff", DiffOptions, "Print what differs between two versions of a protocol."),
    _verb("lsp", LspOptions, "Serve an editor that speaks the Language Server Protocol."),
    _verb("ci", CiOptions, "Write the file with which GitHub or GitLab tests a protocol."),
    _verb("explain", ExplainOptions, "Explain a finding, or list all that there are."),
)

app = new_app(
    "slicc",
    "Compile SLICC cache-coherence protocols, check them, and show their state machines.",
    VERBS,
    no_args_is_help=True,
)


@app.callback()
def options(version: Annotated[bool, version_option("slicc")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""


def main() -> None:
    """The console script: run, and end with a status in every case."""
    heed_endings()
    sys.exit(run(app))


def run(command: Callable[[], object]) -> int:
    """The exit status of a command of ``slicc``."""
    # Trees are as deep as slicc.parser.limits allows; walking them takes a few frames per level.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
    fault = "this is a fault of the compiler, not of your protocol; please report it with its files"
    return run_command("slicc", command, _input_error, fault)


def _input_error(error: Exception) -> Stop | None:
    if not isinstance(error, OSError):
        return None
    where = f" {error.filename}" if error.filename is not None else ""
    return Stop(f"cannot read or write{where}: {error.strerror or error}")


if __name__ == "__main__":
    main()
