"""The calls of the driver by number, and what they are refused with.

Invariant: numbers and codes are Linux's, on every platform.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final

from gpu.errors import GpuError

CODES: Final = {"EIO": 5, "ENOMEM": 12, "EFAULT": 14, "EBUSY": 16, "ENODEV": 19, "EINVAL": 22}
"""Numbers of the codes that calls are refused with."""


class Number(IntEnum):
    """Which call."""

    GET_VERSION = 0x01
    CREATE_QUEUE = 0x02
    DESTROY_QUEUE = 0x03
    GET_CLOCKS = 0x05
    GET_APERTURES = 0x06
    UPDATE_QUEUE = 0x07
    CREATE_EVENT = 0x08
    DESTROY_EVENT = 0x09
    SET_EVENT = 0x0A
    RESET_EVENT = 0x0B
    WAIT_EVENTS = 0x0C
    GET_APERTURES_NEW = 0x14
    ACQUIRE_VM = 0x15
    ALLOC_MEMORY = 0x16
    FREE_MEMORY = 0x17
    MAP_MEMORY = 0x18
    UNMAP_MEMORY = 0x19
    SET_CU_MASK = 0x1A
    GET_WAVE_STATE = 0x1B
    ALLOC_GWS = 0x1E


class DriverError(GpuError):
    """A call was refused. ``code``: a name of `CODES`."""

    def __init__(self, code: str, call: int, why: str) -> None:
        super().__init__(f"driver call {call:#04x}: {why} ({code})")
        self.code = code

    @property
    def number(self) -> int:
        """The number of the code, as the driver returns it."""
        return CODES[self.code]


Refuse = Callable[[str, str], DriverError]
"""Code and reason to the error of one call."""


def refusal(call: int) -> Refuse:
    """Makes errors of one call."""
    return lambda code, why: DriverError(code, call, why)
