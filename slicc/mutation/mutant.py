"""A mutant: a protocol with one mistake, and the edit of the text that makes it.

Invariant: compiling the edited text gives ``ir``; the same text has the same mutants with the same
names, whatever else is done with them.
"""

from __future__ import annotations

import difflib
from dataclasses import field
from enum import StrEnum

from slicc import ir
from slicc.source import SourceFile, Span
from slicc.text.lazy_dataclass import dataclass


class Operator(StrEnum):
    """Kinds of mistakes, in the protocol's own terms; in the order of reports."""

    NEXT_STATE = "next-state"
    ACTION_DROPPED = "action-dropped"
    ACTIONS_SWAPPED = "actions-swapped"
    TRANSITION_REMOVED = "transition-removed"
    STALL_FOR_POP = "stall-for-pop"
    POP_FOR_STALL = "pop-for-stall"
    WAKEUP_DROPPED = "wakeup-dropped"
    WRONG_DESTINATION = "wrong-destination"
    WRONG_TYPE = "wrong-type"
    DIRTY_BIT = "dirty-bit"
    MASK_LOST = "mask-lost"
    SHARERS = "sharers"
    ACK_COUNT = "ack-count"
    CONDITION_NEGATED = "condition-negated"


@dataclass(frozen=True, slots=True)
class Edit:
    """The text of ``span`` replaced."""

    span: Span
    replacement: str

    def applied(self) -> str:
        """The whole file afterwards."""
        text = self.span.file.text
        return text[: self.span.start] + self.replacement + text[self.span.end :]

    def diff(self) -> str:
        """A unified diff with three lines of context, as ``diff -u`` prints it."""
        name = self.span.file.name
        return "".join(
            line if line.endswith("\n") else f"{line}\n"
            for line in difflib.unified_diff(
                self.span.file.text.splitlines(keepends=True),
                self.applied().splitlines(keepends=True),
                name,
                name,
            )
        )


@dataclass(frozen=True, slots=True)
class Mutant:
    """``span``: what the edit is about, where it stood; ``description`` says it in one line.

    ``changed``: the transition, action, port or function with the mistake, for lists by place.
    """

    name: str
    operator: Operator
    machine: str
    changed: str
    span: Span
    description: str
    edit: Edit
    ir: ir.Protocol = field(repr=False, compare=False)

    def diff(self) -> str:
        return self.edit.diff()


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a machine; ``detail`` tells those of one operator and place apart."""

    operator: Operator
    changed: str
    detail: str
    span: Span
    description: str
    edit: Edit
    machine: ir.Machine


def without_line(file: SourceFile, start: int, end: int) -> Edit:
    """The edit that deletes a piece of text, and its line if nothing else stands there."""
    text = file.text
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    if not text[first:start].strip() and not text[end:last].strip():
        start, end = first, min(last + 1, len(text))
    return Edit(Span(file, start, end), "")
