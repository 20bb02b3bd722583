"""Enumerations whose values are plain integers.

Members are class attributes holding ``int`` (``enum.IntEnum`` costs 100 ns for each use, and a
controller uses dozens per transition). Invariant: members are numbered from 0 in the order in
which the class declares them, and ``NUM`` is their count.
"""

from __future__ import annotations

import keyword
from typing import ClassVar, Final

NO_VALUE: Final = "<no value>"


def _true_name(attribute: str) -> str:
    """The member's name: the attribute, without the underscore that avoids a collision."""
    name = attribute.removesuffix("_")
    return name if keyword.iskeyword(name) or hasattr(Enumeration, name) else attribute


class Enumeration:
    """Base of library, global and machine-local enumerations. Never instantiated.

    A member that cannot be a Python attribute of its own name (``None``) carries a trailing
    underscore in the class and its true name in :meth:`members`.
    """

    NUM: ClassVar[int] = 0
    _names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        declared = [
            (name, value)
            for name, value in vars(cls).items()
            if isinstance(value, int) and not name.startswith("_") and name != "NUM"
        ]
        if [value for _, value in declared] != list(range(len(declared))):
            raise TypeError(f"members of {cls.__name__} are not numbered 0, 1, 2, ... in order")
        cls._names = tuple(_true_name(name) for name, _ in declared)
        cls.NUM = len(declared)

    @classmethod
    def members(cls) -> tuple[str, ...]:
        """The names in numerical order."""
        return cls._names

    @classmethod
    def count(cls) -> int:
        return cls.NUM

    @classmethod
    def name_of(cls, value: int) -> str:
        """The name of a value; a placeholder for ``NUM``, which means "never set"."""
        if 0 <= value < cls.NUM:
            return cls._names[value]
        return NO_VALUE if value == cls.NUM else f"<{cls.__name__} {value}>"

    @classmethod
    def value_of(cls, name: str) -> int:
        """The number of a name. Raises ``KeyError`` for a name that is not a member."""
        try:
            return cls._names.index(name)
        except ValueError:
            raise KeyError(f"{cls.__name__} has no member {name}") from None
