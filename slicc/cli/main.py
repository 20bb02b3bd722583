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

from slicc.cli.verbs import VERBS
from slicc.text.command.exit_status import Stop, heed_endings, run_command
from slicc.text.command.plain import plain_options


def main() -> None:
    """The console script: run, and end with a status in every case."""
    heed_endings()
    sys.exit(run(_command))


def _command() -> object:
    """What the command line says; typer reads it if it is not plain."""
    name, *words = sys.argv[1:] or [""]
    verb = next((each for each in VERBS if each.name == name), None)
    options = None if verb is None else plain_options(verb.options, words)
    if verb is not None and options is not None:
        return verb.run(options)
    from slicc.cli.application import app

    return app()


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
