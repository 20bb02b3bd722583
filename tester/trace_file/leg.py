"""A trace of requests on a protocol: the leg that makes them.

Invariant: the same file, protocol and fields of the description give the same leg.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from tester.execution.handover import agents_of
from tester.execution.leg import DEADLOCK_LIMIT
from tester.profiles import machine_roles
from tester.program.replay_file import Leg
from tester.trace_file.program import program_of
from tester.trace_file.reader import TraceRow, read_trace

PROFILE: Final = "trace"
"""What a leg from a trace has in place of a profile."""
_KEY: Final = 1


def trace_leg(
    file: Path,
    protocol: LoadedProtocol,
    assignments: Mapping[str, object] | None = None,
    rows: Sequence[TraceRow] | None = None,
) -> Leg:
    """``assignments``: fields of the system description, by path; ``rows``: the file's, if it has
    been read.

    Raises TraceError, DescriptionError, ConfigError.
    """
    description: SystemDescription = protocol.description.override(dict(assignments or {}))
    agents, groups = agents_of(description)
    able = machine_roles.abilities(protocol.accepted, description)
    program = program_of(
        read_trace(file) if rows is None else rows,
        agents,
        tuple(able[group] for group in groups),
        description.line_size,
        _KEY,
        file,
    )
    identity, texts = protocol.identity, protocol.texts
    return Leg(program, description, identity, DEADLOCK_LIMIT, profile=PROFILE, texts=texts)
