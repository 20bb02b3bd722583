"""``--trace``: transitions as they happen, one a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from runtime.controller.source_location import transition_location
from slicc.text.terminal import printable_lines
from tester.diagnosis.system_inspection import controller_name
from tester.errors import ConfigError


def tracer(text: str, line_size: int) -> Callable[..., None]:
    """An observer that prints transitions of all lines or of one."""
    wanted = None
    if text != "all":
        try:
            wanted = int(text, 0) & -line_size
        except ValueError:
            raise ConfigError(f"--trace {text}: expected all or an address") from None

    def observe(
        controller: Any, address: int, state: int, event: int, next_state: int, comment: str
    ) -> None:
        if wanted is not None and address & -line_size != wanted:
            return
        states = controller.STATES
        change = states.name_of(state)
        if next_state != state:
            change += f" -> {states.name_of(next_state)}"
        name = controller.EVENTS.name_of(event)
        where = transition_location(type(controller), state, event)
        line = (
            f"{controller.engine.now:>9,}  {controller_name(controller):<12} {address:#x}  "
            f"{name:<24} {change:<16} {where} {comment}".rstrip()
        )
        sys.stdout.write(f"{printable_lines(line)}\n")

    return observe
