"""Checks of a whole protocol over its IR: each a pass that only reports.

Invariant: a check never changes the protocol, and none depends on another having run.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink


def check_protocol(protocol: ir.Protocol, sink: DiagnosticSink) -> None:
    """Run all checks."""
