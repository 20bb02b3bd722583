"""What each verb of ``slicc`` does: one module a verb."""

from __future__ import annotations

from typing import Any, Final

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
from slicc.text.command.verb import Verb, imported


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
