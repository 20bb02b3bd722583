"""The command as typer reads it: every line, its mistakes, and its help."""

from __future__ import annotations

from typing import Annotated

from slicc.cli.verbs import VERBS
from slicc.text.command.command_line import new_app
from slicc.text.command.version import version_option

app = new_app(
    "slicc",
    "Compile SLICC cache-coherence protocols, check them, and show their state machines.",
    VERBS,
    no_args_is_help=True,
)


@app.callback()
def options(version: Annotated[bool, version_option("slicc")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""
