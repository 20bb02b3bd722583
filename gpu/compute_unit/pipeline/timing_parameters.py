"""Timing parameters of a compute unit, with their defaults.

All times are cycles of the compute unit, which are ticks of the memory system. The defaults are
round numbers of the right order for a GCN3 part; none is a measurement, and no accuracy is
claimed. Invariant: every value is a positive integer, so that time always advances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from slicc.text.lazy_dataclass import dataclass

LARGEST: Final = 1 << 20
"""As for latencies in a system's description: a larger value can only be a mistake."""


class TimingError(ValueError):
    """``name`` = ``value`` is not valid; ``why``: the reason."""

    def __init__(self, name: str, value: object, why: str) -> None:
        super().__init__(f"{name} = {value!r}: {why}")
        self.name = name
        self.value = value
        self.why = why


@dataclass(frozen=True, slots=True)
class Timing:
    """The table ``[gpu]`` of a system description may set any of these by name.

    ``vector_cycles``: a vector operation holds its SIMD (64 lanes on 16). ``long_factor``: that
    many times longer for 64-bit floating point and transcendental operations. ``scalar_cycles``,
    ``branch_cycles``: until the wave's next instruction. ``fetch_bytes``: of one fetch, aligned;
    ``buffer_bytes``: instruction bytes a wave keeps. ``lines_per_cycle``: cache lines that the
    vector memory pipeline sends. ``memory_queue``: vector memory instructions that wait there.
    ``address_cycles``: from issue to the first request. ``lds_cycles``: from the access to the
    registers, bank conflicts added. ``conflict_lanes``: lanes whose banks are compared together.
    ``scalar_memory_cycles``: from issue to the request. ``message_cycles``: until ``s_sendmsg``
    has arrived. ``clock_divider``: cycles in one step of ``s_memrealtime``. ``sleep_cycles``: of
    one unit of ``s_sleep``.
    """

    vector_cycles: int = 4
    long_factor: int = 4
    scalar_cycles: int = 4
    branch_cycles: int = 4
    fetch_bytes: int = 32
    buffer_bytes: int = 64
    lines_per_cycle: int = 4
    memory_queue: int = 16
    address_cycles: int = 4
    lds_cycles: int = 32
    conflict_lanes: int = 32
    scalar_memory_cycles: int = 4
    message_cycles: int = 16
    clock_divider: int = 8
    sleep_cycles: int = 64

    def __post_init__(self) -> None:
        _check(self)
        if self.fetch_bytes & self.fetch_bytes - 1 or not 8 <= self.fetch_bytes <= 64:
            raise TimingError("fetch_bytes", self.fetch_bytes, "none of 8, 16, 32, 64")
        if self.buffer_bytes < 2 * self.fetch_bytes:
            raise TimingError(
                "buffer_bytes",
                self.buffer_bytes,
                f"less than two fetches of {self.fetch_bytes} bytes, which an instruction may need",
            )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(place.name for place in fields(cls))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Timing:
        """Values by name, the others as they are. Raises TimingError."""
        return cls(**_known(cls.names(), table))


@dataclass(frozen=True, slots=True)
class TlbParameters:
    """The table ``[gpu.tlb]`` of a system description: translations of processes' addresses.

    ``entries``: pages that the TLB of each port keeps; ``shared_entries``: those that the TLB
    behind all of them keeps. ``shared_cycles``: until that one has answered; a page that it does
    not have is found by four loads of page table entries.
    """

    entries: int = 64
    shared_entries: int = 1024
    shared_cycles: int = 16

    def __post_init__(self) -> None:
        _check(self)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> TlbParameters:
        """Values by name, the others as they are. Raises TimingError."""
        return cls(**_known(tuple(place.name for place in fields(cls)), table))


def _known(names: tuple[str, ...], table: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in table.items():
        if name not in names:
            raise TimingError(name, value, f"no such parameter; there are {', '.join(names)}")
    return table


def _check(parameters: Timing | TlbParameters) -> None:
    for place in fields(parameters):
        value = getattr(parameters, place.name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise TimingError(place.name, value, "not a whole number of at least 1")
        if value > LARGEST:
            raise TimingError(place.name, value, f"more than {LARGEST}")
