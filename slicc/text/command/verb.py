"""One verb of a command: what it takes and what it does.

Invariant: neither its options nor what runs it are imported before they are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """``run`` takes an object of ``options``; its result is the exit status if it is an integer.

    ``kind``: that class, or what imports it. ``refusal``: the message about an option that only
    ``others`` have.
    """

    name: str
    kind: type[Any] | Callable[[], type[Any]]
    run: Callable[[Any], object]
    help: str
    refusal: str = "No such option: {option}. It is an option of {others}."

    @property
    def options(self) -> type[Any]:
        """The dataclass of its options."""
        return self.kind if isinstance(self.kind, type) else self.kind()


def later(module: str, name: str) -> Callable[[], type[Any]]:
    """A class that is imported when it is needed."""
    return lambda: getattr(import_module(module), name)


def imported(module: str, function: str) -> Callable[[Any], object]:
    """A function that is imported when it is called."""
    return lambda options: getattr(import_module(module), function)(options)
