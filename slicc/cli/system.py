"""The command ``slicc system``: the system that a protocol would be tested in, as a file to edit.

Invariant: what is printed, given back, builds the same system.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol


class SystemRefused(ValueError):
    """The description has errors, or the protocol has no Python form. The message is complete."""


def file_of(name: Path) -> Path:
    """A protocol's file; a bare name without a file of that name means a shipped protocol."""
    from protocols import shipped

    return name if name.exists() else shipped().get(str(name), name)


def system_text(compiled: CompiledProtocol, system: Path | None, assignments: Sequence[str]) -> str:
    """The completed description of a compiled protocol's system. Raises SystemRefused, OSError."""
    from protocols import SYSTEMS
    from protocols.catalog import written_system
    from runtime.description import DescriptionError, parse_assignment
    from runtime.description.export import editable_toml
    from runtime.description.inference import complete
    from slicc.codegen.python.errors import GenerationError
    from slicc.codegen.python.importer import load_package
    from slicc.text.data import toml_comment, toml_document

    try:
        protocol = load_package(compiled.protocol).PROTOCOL
        names = [compiled.path.stem]
        written, note = written_system(compiled.path, system, protocol, names, SYSTEMS)
        if assignments:
            written = written.override(dict(map(parse_assignment, assignments)))
        completed = complete(written, protocol)
    except (GenerationError, DescriptionError) as error:
        raise SystemRefused(str(error)) from None
    text = toml_document(editable_toml(compiled.path.name, written, completed, protocol))
    return f"{toml_comment(note)}\n{text}" if note else text
