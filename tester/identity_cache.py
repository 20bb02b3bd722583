"""What each leg asks for several times, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def once_for_the_same(kept: int) -> Callable[[_Function], _Function]:
    """Keep the last results of a function of values that never change, found by identity: the very
    same arguments are found faster than equal ones."""

    def decorate(function: _Function) -> _Function:
        made: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = {}
        """With the arguments: while they are kept, nothing else has their identities."""
        changing = Lock()

        @wraps(function)
        def found(*arguments: object) -> Any:
            key = tuple(map(id, arguments))
            known = made.get(key)
            if known is None:
                known = arguments, function(*arguments)
                with changing:
                    while len(made) >= kept:
                        del made[next(iter(made))]
                    made[key] = known
            return known[1]

        return found  # type: ignore[return-value]

    return decorate
