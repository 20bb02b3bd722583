"""How much memory a search may need, before it begins.

Invariant: the estimate is above what was measured for every shipped protocol, so a search that
passes is not ended by memory unless others take it.
"""

from __future__ import annotations

from typing import Final

from runtime.native import system as native_system
from tester.errors import ConfigError

_VISITED: Final = 16
"""Bytes of a state: fingerprint, parent, choice."""
_WIDER: Final = 10
_WAITING: Final = 64
"""Of its code, by state: not all states wait at once."""
_STEP: Final = 32
"""Of a step that is kept, with what judging them needs."""
_MOST_STEPS: Final = 1 << 24


def check_memory(most_states: int, *, wide: bool) -> None:
    """Raises ConfigError if this machine has less than so many states may need."""
    free = native_system.available_memory()
    wanted = most_states * (_VISITED + _WAITING + (_WIDER if wide else 0))
    if free is not None and wanted > free:
        raise ConfigError(
            f"--max-states {most_states} may need {wanted / 1e6:,.0f} MB of memory, and this "
            f"machine has {free / 1e6:,.0f} MB available; fewer states need less"
        )


def steps_that_fit() -> int:
    """How many steps may be kept, in a quarter of the memory."""
    free = native_system.available_memory()
    return _MOST_STEPS if free is None else min(_MOST_STEPS, free // 4 // _STEP)
