"""Numbers for positions in the author's text, to which verdicts of the native engine refer.

Invariant: number 0 means no position; any other is one line of one file, with the action that the
line belongs to, unless it belongs to a function, which several actions may call.
"""

from __future__ import annotations

from dataclasses import field

from slicc.codegen.python.line_map import file_name
from slicc.source import BUILTIN, Span
from slicc.text.lazy_dataclass import dataclass

Place = tuple[str, int, str | None]


@dataclass(slots=True)
class Sites:
    """``places`` and ``actions`` are in the order of their numbers, without 0."""

    places: list[Place] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    _places: dict[Place, int] = field(default_factory=dict)
    _actions: dict[str, int] = field(default_factory=dict)

    def place(self, span: Span, action: str | None) -> int:
        if span.file is BUILTIN:
            return 0
        place = (file_name(span), span.line, action)
        known = self._places.get(place)
        if known is None:
            self.places.append(place)
            assert len(self.places) == len(self._places) + 1
            known = self._places[place] = len(self.places)
        return known

    def action(self, name: str) -> int:
        """The number of an action, port or function, by its name in reports."""
        known = self._actions.get(name)
        if known is None:
            self.actions.append(name)
            assert len(self.actions) == len(self._actions) + 1
            known = self._actions[name] = len(self.actions)
        return known
