"""What each leg asks for several times, made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Same:
    """Arguments as a key: the very same ones, which are found again faster than equal ones."""

    __slots__ = ("arguments",)

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self.arguments = arguments

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.arguments)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and all(
            one is another for one, another in zip(self.arguments, other.arguments, strict=True)
        )


def once_for_the_same(kept: int) -> Callable[[_Function], _Function]:
    """Keep the last results of a function of values that never change, found by identity."""

    def decorate(function: _Function) -> _Function:
        @lru_cache(kept)
        def made(key: _Same) -> Any:
            return function(*key.arguments)

        @wraps(function)
        def found(*arguments: object) -> Any:
            return made(_Same(arguments))

        return found  # type: ignore[return-value]

    return decorate
