"""The command ``slicc system``: the system that a protocol would be tested in, as a file to edit.

Invariant: what is printed, given back, builds the same system; one that lacks values asks for
those whose lines are comments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from protocols import SYSTEMS, shipped
from protocols.catalog import script_values, written_system
from protocols.compile_cache import bodies_of
from runtime.description import DescriptionError, parse_assignment
from runtime.description.export import editable_toml
from runtime.description.inference import complete
from runtime.description.origin import MissingParameters
from slicc.cli.options import SystemOptions
from slicc.cli.session import compiling
from slicc.codegen.python.errors import GenerationError
from slicc.codegen.python.importer import load_package
from slicc.compiled import CompiledProtocol
from slicc.text.command.exit_status import Stop
from slicc.text.data import toml_comment, toml_document


def system(options: SystemOptions) -> None:
    """Print the description of each protocol's system."""
    with compiling([_file_of(options.protocol)], options) as session:
        session.require_different_names()
        for compiled in session.protocols:
            print(_system_text(compiled, options.system, options.assignments), end="")


def _file_of(name: Path) -> Path:
    """A protocol's file; a bare name without a file of that name means a shipped protocol."""
    return name if name.exists() else shipped().get(str(name), name)


def _system_text(
    compiled: CompiledProtocol, system: Path | None, assignments: Sequence[str]
) -> str:
    """The completed description of a compiled protocol's system. Raises Stop, OSError."""
    try:
        protocol = load_package(compiled.protocol).PROTOCOL
        names, bodies = [compiled.path.stem], bodies_of(compiled.protocol)
        found = written_system(compiled.path, system, protocol, names, SYSTEMS, bodies)
        written = found.description
        if assignments:
            written = written.override(dict(map(parse_assignment, assignments)))
        notes = [found.note] if found.note else []
        missing: Mapping[str, str | int] = {}
        try:
            completed = complete(written, protocol)
        except MissingParameters as error:
            stated, said = script_values(compiled.path, protocol, error.placeholders)
            written = written.override(stated)
            notes += [said] if said else []
            try:
                completed = complete(written, protocol)
            except MissingParameters as rest:
                missing = rest.placeholders
                notes.append(rest.message)
                completed = complete(written.override(missing), protocol)
    except (GenerationError, DescriptionError) as error:
        raise Stop(str(error)) from None
    text = toml_document(editable_toml(compiled.path.name, written, completed, protocol, missing))
    return "".join(f"{toml_comment(line)}\n" for line in notes) + text
