"""The state of a resident group as bytes: what a context save area holds of it.

First a header for each wave, with its scalar registers behind it, then their vector registers, then
LDS. Invariant: a group that is unpacked continues as the one that was packed would have; sizes
follow from the group's demand; bytes of any content that `check_group` accepts have a meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from gpu.compute_unit.wave.hardware_registers import GPR_ALLOC, HW_ID, LDS_ALLOC, SH_MEM_BASES
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import Demand, WaveStart
from gpu.hsa.struct_layout import Field, Layout
from gpu.isa.wave_registers import EXEC
from gpu.wave_size import LANES

SCALARS: Final = 128
HARDWARE: Final = 32
"""Hardware registers by number; those that say where the wave runs are not restored."""
HEADER: Final = Layout(
    "saved_wave",
    32,
    (
        Field("pc", 0, 8),
        Field("mode", 8, 4),
        Field("flags", 12, 4),
        Field("executed", 16, 8),
        Field("priority", 24, 4),
    ),
)
SCC, AT_BARRIER, ENDED, IN_HANDLER = 1, 2, 4, 8
WAVE_BYTES: Final = HEADER.size + 4 * (SCALARS + HARDWARE)
_OF_PLACE: Final = (HW_ID, GPR_ALLOC, LDS_ALLOC, SH_MEM_BASES)
ROW_BYTES: Final = 4 * LANES


def vector_rows(demand: Demand, starts: Sequence[WaveStart]) -> int:
    """Vector registers of each wave."""
    return max(demand.vgprs, *(len(start.vgprs) for start in starts))


def group_bytes(demand: Demand, starts: Sequence[WaveStart]) -> int:
    """The size of a saved group."""
    rows = vector_rows(demand, starts)
    return demand.waves * (WAVE_BYTES + rows * ROW_BYTES) + _lds_bytes(demand)


def _lds_bytes(demand: Demand) -> int:
    return -(-demand.lds // 8) * 8


def pack_group(group: Group[Any]) -> bytes:
    """The state of a group, all of whose accesses have returned."""
    parts = [_pack_wave(wave) for wave in group.waves]
    parts += [wave.vgprs.tobytes() for wave in group.waves]
    parts.append(group.lds.bytes.tobytes())
    return b"".join(parts)


def _pack_wave(wave: Wavefront) -> bytes:
    flags = SCC * bool(wave.scc) | AT_BARRIER * wave.at_barrier
    flags |= ENDED * wave.ended | IN_HANDLER * wave.in_handler
    fields = {
        "pc": wave.pc,
        "mode": wave.mode,
        "flags": flags,
        "executed": wave.executed,
        "priority": wave.priority,
    }
    hardware = [wave.hardware.get(number, 0) for number in range(HARDWARE)]
    return HEADER.pack(fields) + np.array([*wave.sgprs, *hardware], np.uint32).tobytes()


def check_group(demand: Demand, starts: Sequence[WaveStart], data: bytes) -> None:
    """Raises ValueError for bytes that no group can continue with."""
    wanted = group_bytes(demand, starts)
    if len(data) != wanted:
        raise ValueError(f"{len(data)} bytes instead of {wanted}")
    flags = [
        HEADER.unpack(data[place : place + HEADER.size])["flags"]
        for place in range(0, demand.waves * WAVE_BYTES, WAVE_BYTES)
    ]
    if all(each & (ENDED | AT_BARRIER) for each in flags):
        raise ValueError("every wave has ended or waits at the barrier")


def unpack_group(group: Group[Any], data: bytes) -> None:
    """Give a group that was just made the state of a saved one, whose bytes were checked."""
    waves: list[Wavefront] = group.waves
    for number, wave in enumerate(waves):
        _unpack_wave(wave, data[number * WAVE_BYTES : (number + 1) * WAVE_BYTES])
    place = len(waves) * WAVE_BYTES
    for wave in waves:
        size = wave.vgprs.nbytes
        wave.vgprs[:] = np.frombuffer(data, np.uint32, size // 4, place).reshape(wave.vgprs.shape)
        place += size
    group.lds.bytes[:] = np.frombuffer(data, np.uint8, len(group.lds.bytes), place)
    group.live = sum(not wave.ended for wave in waves)
    group.arrived = sum(wave.at_barrier and not wave.ended for wave in waves)


def _unpack_wave(wave: Wavefront, data: bytes) -> None:
    fields = HEADER.unpack(data[: HEADER.size])
    flags = fields["flags"]
    wave.pc = fields["pc"]
    wave.set_mode(fields["mode"])
    wave.executed = fields["executed"]
    wave.priority = fields["priority"] & 3
    wave.scc = flags & SCC
    wave.at_barrier = bool(flags & AT_BARRIER)
    wave.ended = bool(flags & ENDED)
    wave.in_handler = bool(flags & IN_HANDLER)
    words = np.frombuffer(data, np.uint32, SCALARS + HARDWARE, HEADER.size).tolist()
    wave.sgprs[:] = words[:SCALARS]
    wave.hardware |= {
        number: value for number, value in enumerate(words[SCALARS:]) if number not in _OF_PLACE
    }
    wave.set_exec(wave.sgprs[EXEC] | wave.sgprs[EXEC + 1] << 32)
