"""The text of transitions and of their actions, as their author wrote them.

Pictures of a run show it beside what happened. Invariant: a text is that of the files as they are
now, so it is read together with the protocol that runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from protocols.loader import LoadedProtocol, compiled_protocol
from protocols.texts import ProtocolTexts
from slicc.text.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol
    from slicc.source import Span

Cell = tuple[str, str, str]
"""Machine, state, event."""

_OPENS: Final = re.compile(r"\s*\{")
_MARKS: Final = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'|[{}]", re.DOTALL)
"""Braces, and what hides them: comments and texts."""
_LAST: Final[list[tuple[ProtocolTexts, Mapping[Cell, TransitionText]]]] = []
"""The last texts that were compiled, and what was found in them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a file, from ``line`` on."""

    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """``MI-cache.sm:464``, as reports name it."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class TransitionText:
    """A transition as written, and its actions by name, each once, in their order."""

    passage: Passage
    actions: tuple[tuple[str, Passage], ...]


def transition_texts(
    name: str, include: Sequence[Path] = (), preludes: Sequence[Path] = ()
) -> Mapping[Cell, TransitionText]:
    """The texts of all transitions of a protocol that compiles. Raises what `protocols.loader`
    does."""
    return texts_of(compiled_protocol(name, include, preludes))


def texts_as_loaded(
    protocol: LoadedProtocol, include: Sequence[Path] = (), preludes: Sequence[Path] = ()
) -> Mapping[Cell, TransitionText]:
    """The texts of transitions by cell, for the files that a protocol was loaded from, or for the
    texts that a leg carries: then its path, which comes from others, is not opened. The last such
    texts are compiled once: a run has a page for every failure."""
    if protocol.texts is None:
        return transition_texts(protocol.identity.path or protocol.identity.name, include, preludes)
    for texts, found in _LAST:
        if texts == protocol.texts:
            return found
    with protocol.texts.written() as (root, driver, own):
        found = transition_texts(str(driver), [root], own)
    _LAST[:] = [(protocol.texts, found)]
    return found


def texts_of(compiled: CompiledProtocol) -> dict[Cell, TransitionText]:
    """The texts of all transitions of a compiled protocol."""
    found: dict[Cell, TransitionText] = {}
    for machine in compiled.protocol.machines:
        actions = {
            action.ref: (action.ref.name, _passage(action.span)) for action in machine.actions
        }
        texts = [
            TransitionText(
                _passage(transition.span),
                tuple(actions[ref] for ref in dict.fromkeys(transition.actions)),
            )
            for transition in machine.transitions
        ]
        for cell in machine.cells:
            found[machine.name, cell.state, cell.event] = texts[cell.transition]
    return found


def _passage(span: Span) -> Passage:
    """The declaration that a span names, from the start of its line to the brace that closes it."""
    text = span.file.text
    begin = span.file.line_bounds(span.line)[0]
    depth = 0
    end = span.end
    for mark in _MARKS.finditer(text, span.end):
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
        if mark[0] == "}" and depth <= 0:
            end = mark.end()
            if not _OPENS.match(text, end):  # request types stand in braces, too
                break
    return Passage(Path(span.file.name).name, span.line, dedent(text[begin:end]))
