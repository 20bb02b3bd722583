"""What a program of a processor yields, one step after the other.

Invariant: an action that exists can be carried out, as far as that depends on it alone: its size is
one of a register, its address a multiple of it, and its numbers fit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

from gpu.errors import HostError
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass

SIZES: Final = (1, 2, 4, 8)
ATOMIC_SIZES: Final = (4, 8)
_ADDRESSES: Final = 1 << 64
_MOST_TICKS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Load:
    """Gives the unsigned number of ``size`` bytes (1, 2, 4 or 8) at a multiple of it."""

    address: int
    size: int = 4

    def __post_init__(self) -> None:
        _check_place("load", self.address, self.size, SIZES)


@dataclass(frozen=True, slots=True)
class Store:
    """Ends when every observer sees it. ``value``: signed or unsigned."""

    address: int
    value: int
    size: int = 4

    def __post_init__(self) -> None:
        _check_place("store", self.address, self.size, SIZES)
        _check_number("store", "value", self.value, self.size)


@dataclass(frozen=True, slots=True)
class Atomic:
    """Gives the old value. ``op``: the name of an operation, ``add`` or ``exchange``, or a
    `runtime.types.atomic_op.AtomicKind`. ``compare``: what ``cas`` compares with."""

    op: str | int
    address: int
    operand: int
    compare: int = 0
    size: int = 4

    def __post_init__(self) -> None:
        _check_place("atomic", self.address, self.size, ATOMIC_SIZES)
        _check_number("atomic", "operand", self.operand, self.size)
        _check_number("atomic", "compare", self.compare, self.size)
        if self.kind is None:
            known = ", ".join(map(str.lower, AtomicKind.members()))
            raise HostError(f"there is no atomic operation {self.op!r}; there are {known}")

    @property
    def kind(self) -> int | None:
        """The number of the operation; None if there is none."""
        names = [name.lower() for name in AtomicKind.members()]
        if isinstance(self.op, str):
            return names.index(self.op) if self.op in names else None
        return self.op if _is_number(self.op) and 0 <= self.op < len(names) else None


@dataclass(frozen=True, slots=True)
class Wait:
    """Loads until the value is ``until``, or until that function of it is true; gives the value."""

    address: int
    until: int | Callable[[int], bool]
    size: int = 4

    def __post_init__(self) -> None:
        _check_place("wait", self.address, self.size, SIZES)
        if not callable(self.until):
            _check_number("wait", "value", self.until, self.size)

    def ends_with(self, value: int) -> bool:
        """Whether this unsigned value is what it waits for."""
        if callable(self.until):
            return self.until(value)
        return value == self.until & (1 << 8 * self.size) - 1


@dataclass(frozen=True, slots=True)
class Sleep:
    """Does nothing for so many ticks."""

    ticks: int

    def __post_init__(self) -> None:
        if not _is_number(self.ticks) or not 0 < self.ticks < _MOST_TICKS:
            raise HostError(f"a sleep takes 1 tick or more, not {self.ticks!r}")


Access = Load | Store | Atomic
Action = Access | Wait | Sleep | Sequence[Access]
"""Several accesses are made at once, in no order, and give a list."""
Program = Generator[Action, Any, Any]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_place(what: str, address: int, size: int, sizes: tuple[int, ...]) -> None:
    if size not in sizes or not _is_number(size):
        known = ", ".join(map(str, sizes[:-1])) + f" or {sizes[-1]}"
        raise HostError(f"{what}: the size is {known} bytes, not {size!r}")
    if not _is_number(address) or not 0 <= address < _ADDRESSES:
        raise HostError(f"{what}: an address is a number of 64 bits, not {address!r}")
    if address % size:
        raise HostError(f"{what}: address {address:#x} is no multiple of its {size} bytes")


def _check_number(what: str, name: str, value: object, size: int) -> None:
    limit = 1 << 8 * size
    if not isinstance(value, int) or not -limit // 2 <= value < limit:
        raise HostError(f"{what}: {name} {value!r} is no number of {size} bytes")
