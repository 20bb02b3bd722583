"""A debugger of kernels: waves that stop at its traps, their registers, and their resumption.

Without one, ``s_trap 1`` and ``s_trap 3`` have no effect (D1, "Trap Handler ABI"). With one, a wave
at such a trap waits until all that it has issued has returned, and then until it is resumed; other
waves run on, but for those that wait for it at a barrier.

Invariant: registers change only of a stopped wave, between two ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.wave.hardware_registers import HW_ID
from gpu.dispatch.launch import GroupStart, StoppedWave
from gpu.errors import HostError
from gpu.host.processes.context import Context
from gpu.wave_size import LANES

SCALARS: Final = 102
"""s0 to s101; VCC, M0 and EXEC have names of their own."""
_NAMED: Final = {"vcc_lo": 106, "vcc_hi": 107, "m0": 124}


@dataclass(eq=False)
class Stop:
    """A wave that has stopped. ``trap``: the number of its trap."""

    trap: int
    _group: GroupStart
    _wave: StoppedWave
    _resume: Callable[[], None]
    resumed: bool = field(default=False, init=False)

    def __str__(self) -> str:
        line = self._group.line_at(self.pc - 4)
        place = f"{self.pc - 4:#x}" + (f" ({line})" if line else "")
        return f"{self._wave} stopped by trap {self.trap} at {place}"

    @property
    def kernel(self) -> str:
        return self._group.kernel

    @property
    def group(self) -> tuple[int, int, int]:
        """The id of its work-group."""
        return self._group.id

    @property
    def wave(self) -> int:
        """The number of the wave in its group."""
        return self._wave.number

    @property
    def queue(self) -> int:
        """Address of the queue object."""
        return self._group.queue

    @property
    def packet_id(self) -> int:
        return self._group.packet

    @property
    def packet(self) -> int:
        """Address of the packet's copy."""
        return self._group.dispatch_pointer

    @property
    def group_size(self) -> int:
        """Work-items of the group."""
        return sum(wave.exec.bit_count() for wave in self._group.waves)

    @property
    def items(self) -> int:
        """Work-items of the wave."""
        return self._group.waves[self.wave].exec.bit_count()

    @property
    def compute_unit(self) -> int:
        """The index of the unit it runs on."""
        return self._wave.hardware[HW_ID] >> 8 & 0x7F

    @property
    def pc(self) -> int:
        """Where it continues: behind the trap, unless that is changed."""
        return self._wave.pc

    # ------------------------------------------------------------------ registers

    def scalar(self, register: int | str) -> int:
        """s0 to s101 by number; ``vcc_lo``, ``vcc_hi``, ``m0`` by name. Raises HostError."""
        return self._wave.sgprs[_scalar(register)]

    def set_scalar(self, register: int | str, value: int) -> None:
        """Raises HostError for no such register, a value beyond 32 bits, or a resumed wave."""
        self._need_stopped()
        _check_bits(value, 32)
        self._wave.sgprs[_scalar(register)] = value

    @property
    def exec(self) -> int:
        """The active lanes of the wave, a bit a lane."""
        return self._wave.exec

    def set_exec(self, bits: int) -> None:
        """Raises HostError as `set_scalar` does."""
        self._need_stopped()
        _check_bits(bits, LANES)
        self._wave.set_exec(bits)

    def vector(self, register: int) -> npt.NDArray[np.uint32]:
        """A copy of a vector register, a number a lane. Raises HostError."""
        return self._row(register).copy()

    def set_vector(self, register: int, values: npt.ArrayLike) -> None:
        """All 64 lanes. Raises HostError as `set_scalar` does."""
        self._need_stopped()
        row = self._row(register)
        array = np.asarray(values)
        if array.shape != (LANES,) or array.dtype.kind not in "iu":
            raise HostError(f"a vector register has {LANES} whole numbers")
        row[:] = array.astype(np.uint32)

    def _row(self, register: int) -> npt.NDArray[np.uint32]:
        count = len(self._wave.vgprs)
        if not 0 <= register < count:
            raise HostError(f"the wave has v0 to v{count - 1}, and no v{register}")
        row: npt.NDArray[np.uint32] = self._wave.vgprs[register]
        return row

    def resume(self) -> None:
        """Let it continue. Raises HostError if it has been resumed."""
        self._need_stopped()
        self.resumed = True
        self._resume()

    def _need_stopped(self) -> None:
        if self.resumed:
            raise HostError(f"the wave of {self.kernel} was resumed")


class Debugger:
    """Attached to a device for the kernels that it launches from now on.

    ``on_stop``: called with each stop, between two ticks, where it may resume the wave; else
    stops are collected in `stops`. Raises HostError where there is one already, and where
    waves are resident on units that run ahead of the clock.
    """

    def __init__(self, device: Context, on_stop: Callable[[Stop], None] | None = None) -> None:
        device.machine.need_the_clock("debugger")
        self._all: list[Stop] = []
        self._on_stop = on_stop
        device.on_stop(self._stopped)

    @property
    def stops(self) -> list[Stop]:
        """The stops that were not resumed, in order."""
        return [stop for stop in self._all if not stop.resumed]

    def _stopped(
        self, group: GroupStart, wave: StoppedWave, trap: int, resume: Callable[[], None]
    ) -> None:
        stop = Stop(trap, group, wave, resume)
        self._all.append(stop)
        if self._on_stop is not None:
            self._on_stop(stop)


def _scalar(register: int | str) -> int:
    """The operand code of a register. Raises HostError."""
    if isinstance(register, str):
        if register not in _NAMED:
            raise HostError(f"no register {register!r}; there are {', '.join(_NAMED)}")
        return _NAMED[register]
    if not 0 <= register < SCALARS:
        raise HostError(f"there are s0 to s{SCALARS - 1}, and no s{register}")
    return register


def _check_bits(value: int, bits: int) -> None:
    if not 0 <= value < 1 << bits:
        raise HostError(f"{value} has more than {bits} bits, or a sign")
