"""What evaluating a piece of C++ may do: read, change, fail.

Invariant: what the runtime's methods do is a table of these (`runtime_names`); what an expression
does is their union.
"""

from __future__ import annotations

from enum import IntFlag


class Acts(IntFlag):
    """What evaluating an expression may do."""

    NOTHING = 0
    READS = 1
    NULLS = 2
    """It may end in the verdict ``null_dereference``."""
    FAILS = 4
    """It may end in another verdict."""
    CHANGES = 8
    PLACED = 16
    """A function of the runtime fails at the place that the context names."""
