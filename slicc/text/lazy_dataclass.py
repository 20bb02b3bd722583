"""Dataclasses whose constructor is written when their first object is made.

``dataclasses`` writes and compiles up to six methods for a class when it is declared, a third of a
millisecond; a command declares some two hundred and makes objects of few. Invariant: a class is
what the decorator of ``dataclasses`` makes of it, to programs and to type checkers; only its
constructor comes later, and its other methods are no text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """The decorator; kinds of classes that are rare here are left to ``dataclasses``."""
        if cls is not None or not options.keys() <= {"slots", "frozen", "kw_only"}:
            return dataclasses.dataclass(cls, **options)
        return lambda declared: _declared(declared, **options)


Method = Callable[..., Any]


def _declared(
    declared: type[Any], slots: bool = False, frozen: bool = False, kw_only: bool = False
) -> type[Any]:
    bare = dataclasses.dataclass(slots=slots, kw_only=kw_only, init=False, repr=False, eq=False)
    declared.__doc__ = declared.__doc__ or declared.__name__  # else it is made of the signature
    made: type[Any] = bare(declared)
    put = _PUT if not frozen else _PUT_INTO_SLOT if slots else _PUT_INTO_DICT
    methods = _methods(made, put)
    if slots:
        methods |= _states(made)
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    else:
        methods["__hash__"] = None
    for name, method in methods.items():
        if name not in declared.__dict__:
            setattr(made, name, method)
    return made


def _methods(made: type[Any], put: str) -> dict[str, Method | None]:
    compared = _values([each.name for each in dataclasses.fields(made) if each.compare])

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        made.__init__ = _constructor(made, put)
        made.__init__(self, *values, **named)

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        equal: bool = compared(self) == compared(other)
        return equal

    def __hash__(self: Any) -> int:
        return hash(compared(self))

    return {each.__name__: each for each in (__init__, __eq__, __hash__, _repr)}


def _states(made: type[Any]) -> dict[str, Method]:
    """How objects with slots are copied and kept."""
    fields = dataclasses.fields(made)
    kept = _values([each.name for each in fields])
    puts = [getattr(made, each.name).__set__ for each in fields]

    def __getstate__(self: Any) -> object:
        return kept(self)

    def __setstate__(self: Any, state: Any) -> None:
        for put, value in zip(puts, state):
            put(self, value)

    return {each.__name__: each for each in (__getstate__, __setstate__)}


def _values(names: list[str]) -> Callable[[Any], Any]:
    """What gets the values of these fields in a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda each: tuple([getattr(each, name) for name in names])


_PUT = "self.{name} = {value}"
_PUT_INTO_SLOT = "put_{name}(self, {value})"
_PUT_INTO_DICT = "self.__dict__['{name}'] = {value}"
"""The last two get past what refuses to set fields."""


def _constructor(made: type[Any], put: str) -> Method:
    """``__init__``. ``put``: how it sets a field."""
    known: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for each in dataclasses.fields(made):
        name, value = each.name, each.name
        if put is _PUT_INTO_SLOT:
            known[f"put_{name}"] = getattr(made, name).__set__
        known[f"default_{name}"] = each.default
        optional = each.default is not dataclasses.MISSING
        if each.default_factory is not dataclasses.MISSING:
            known[f"new_{name}"] = each.default_factory
            value, optional = f"new_{name}() if {name} is MISSING else {name}", True
        if each.init:
            parameters[each.kw_only is True].append(f"{name}=default_{name}" if optional else name)
        elif optional:
            lines.append(f"    {name} = default_{name}")
        if each.init or optional:
            lines.append("    " + put.format(name=name, value=value))
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    named = ["*", *parameters[True]] if parameters[True] else []
    head = f"def __init__({', '.join(['self', *parameters[False], *named])}):"
    exec("\n".join([head, *lines, "    pass"]), known)
    method: Method = known["__init__"]
    return method


def _repr(self: Any) -> str:
    shown = [each for each in dataclasses.fields(self) if each.repr]
    inside = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in shown)
    return f"{self.__class__.__qualname__}({inside})"


_repr.__name__ = "__repr__"


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
