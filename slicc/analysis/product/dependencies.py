"""What a step of a machine depends on, as digests of text.

Only steps that make a transition depend on the text of its row and of its actions. All else of a
machine's body is what all of its steps depend on, and all texts outside of such bodies are what
every step does. Invariant: all of the texts but comments is in one of these digests.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Final

from slicc import ir
from slicc.analysis.product.machine import Model
from slicc.source import SourceFile, Span

_NO_CODE: Final = r"""("[^"\n]*"|'[^'\n]*')|//[^\n]*|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/"""
_COMMENTS: Final = re.compile(_NO_CODE)
_PIECES: Final = re.compile(rf"[{{}}]|{_NO_CODE}")
"""Braces, and strings and comments, which may hold one that is none."""

Range = tuple[int, int]
Cell = tuple[str, str]


class NoBlock(Exception):
    """Something has no block in braces where one is expected."""


class Dependencies:
    """Digests of what steps of the machines of one protocol depend on.

    ``sources``: all of its texts. Raises NoBlock.
    """

    def __init__(self, models: Sequence[Model], sources: Iterable[SourceFile]) -> None:
        self._texts = {source.name: source.text for source in sources}
        self._braces: dict[str, tuple[list[int], dict[int, int]]] = {}
        bodies = [self._block(model.machine.span) for model in models]
        rows = [self._rows_of(model.machine) for model in models]
        flat = [place for each in rows for place in each]
        outside = "\0".join(
            f"{name}\0{_without(text, (0, len(text)), [*_in(name, bodies), *_in(name, flat)])}"
            for name, text in self._texts.items()
        )
        shape = repr([_shape(model) for model in models])
        self.machines = [
            _digest(outside, shape, _without(self._texts[name], body, _in(name, flat)))
            for name, body in bodies
        ]
        """By machine, a digest of what all its steps depend on."""
        self._cells: list[dict[Cell, bytes]] = [{} for _ in models]
        self._models = models

    def cell(self, index: int, cell: Cell) -> bytes:
        """A digest of what steps that ask for a cell of a machine's table depend on besides."""
        known = self._cells[index]
        if cell not in known:
            row = self._models[index].row(*cell)
            known[cell] = b"" if row is None else self._row(self._models[index].machine, row)
        return known[cell]

    def _row(self, machine: ir.Machine, number: int) -> bytes:
        row = machine.transitions[number]
        actions = {each.ref: each.span for each in machine.actions}
        spans = [row.span, *(actions[ref] for ref in row.actions)]
        return _digest(
            *(self._texts[name][start:end] for name, (start, end) in map(self._block, spans))
        )

    def _rows_of(self, machine: ir.Machine) -> list[tuple[str, Range]]:
        return [self._block(each.span) for each in (*machine.actions, *machine.transitions)]

    def _block(self, span: Span) -> tuple[str, Range]:
        """From a name to the end of the block behind it."""
        name = span.file.name
        if self._texts.get(name) != span.file.text:
            raise NoBlock
        if name not in self._braces:
            self._braces[name] = _braces(span.file.text)
        opening, closing = self._braces[name]
        place = bisect_left(opening, span.end)
        if place == len(opening):
            raise NoBlock
        return name, (span.start, closing[opening[place]])


def _shape(model: Model) -> tuple[object, ...]:
    """What steps of other machines that send to it depend on."""
    return model.type, model.starts_requests, [(each.name, each.network) for each in model.ports]


def _braces(text: str) -> tuple[list[int], dict[int, int]]:
    """Where blocks open, and by that where they end."""
    opening: list[int] = []
    open_now: list[int] = []
    closing: dict[int, int] = {}
    for piece in _PIECES.finditer(text):
        if piece[0] == "{":
            opening.append(piece.start())
            open_now.append(piece.start())
        elif piece[0] == "}" and open_now:
            closing[open_now.pop()] = piece.end()
    if open_now:
        raise NoBlock
    return opening, closing


def _in(name: str, places: Iterable[tuple[str, Range]]) -> list[Range]:
    return [place for file, place in places if file == name]


def _without(text: str, whole: Range, ranges: Iterable[Range]) -> str:
    """A part of a text without the ranges in it."""
    left, end = [], whole[0]
    for start, stop in sorted(ranges):
        if whole[0] <= start and stop <= whole[1]:
            left.append(text[end:start])
            end = max(end, stop)
    left.append(text[end : whole[1]])
    return "\0".join(left)


def _digest(*parts: str) -> bytes:
    """A digest of texts without their comments, however they are broken into lines."""
    code = _COMMENTS.sub(lambda found: found[1] or " ", "\0".join(parts))
    return hashlib.sha256(" ".join(code.split()).encode("utf-8", "surrogateescape")).digest()


__all__ = ["Cell", "Dependencies", "NoBlock"]
