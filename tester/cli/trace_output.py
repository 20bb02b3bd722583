"""``--trace``: transitions as they happen, one a line."""

from __future__ import annotations

import sys
from typing import Any, Final

from runtime.controller.source_location import transition_location
from slicc.text.terminal import printable_lines
from slicc.text.wording import first_few
from tester.diagnosis.events.system_inspection import controller_name
from tester.errors import ConfigError

_SHOWN: Final = 8


class Tracer:
    """An observer that prints transitions of all lines, or of the one that ``text`` names.

    Raises ConfigError if it names none.
    """

    def __init__(self, text: str, line_size: int) -> None:
        self._mask = -line_size
        self._wanted: int | None = None
        self._lines: dict[int, None] = {}
        if text != "all":
            try:
                address = int(text, 0)
            except ValueError:
                address = -1
            if address < 0:
                raise ConfigError(f"--trace {text}: expected all or an address")
            self._wanted = address & self._mask

    def __call__(
        self, controller: Any, address: int, state: int, event: int, next_state: int, comment: str
    ) -> None:
        line = address & self._mask
        self._lines.setdefault(line)
        if self._wanted is not None and line != self._wanted:
            return
        states = controller.STATES
        change = states.name_of(state)
        if next_state != state:
            change += f" -> {states.name_of(next_state)}"
        name = controller.EVENTS.name_of(event)
        where = transition_location(type(controller), state, event)
        text = (
            f"{controller.engine.now:>9,}  {controller_name(controller):<12} {address:#x}  "
            f"{name:<24} {change:<16} {where} {comment}".rstrip()
        )
        sys.stdout.write(f"{printable_lines(text)}\n")

    def missed(self) -> str:
        """That the line was never touched, and which ones were; empty if it was."""
        if self._wanted is None or self._wanted in self._lines:
            return ""
        known = first_few([f"{line:#x}" for line in sorted(self._lines)], _SHOWN)
        return f"no transition of line {self._wanted:#x}; there were some of {known or 'none'}"
