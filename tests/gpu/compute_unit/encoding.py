"""Single memory instructions put together from their fields, and a wave to execute them on."""

from __future__ import annotations

import numpy as np

from gpu.compute_unit.memory_ops.access import MemoryAccess, Operation
from gpu.compute_unit.program.decoded_program import bind_one
from gpu.compute_unit.wave.resident_groups import Residents
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode_at
from gpu.isa.encoding.encoder import encode
from gpu.isa.tables import OPCODES
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.harness import Bench

FORMS = ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "SMEM")
NAMES = [
    (generation, form, opcode.name)
    for generation, tables in OPCODES.items()
    for form in FORMS
    for opcode in tables.get(form, {}).values()
]


def operation(
    form: str, name: str, generation: Generation = Generation.GFX8, **fields: int
) -> Operation:
    """The bound instruction with these fields; the others are 0."""
    code = encode(form, name, None, generation, **fields)
    decoded = bind_one(decode_at(code.ljust(8, b"\0"), 0, 0x1000, generation))
    assert decoded.operation is not None, f"{name} is not carried out"
    return decoded.operation


def wavefront(
    lds: int = 0,
    memory: FlatMemory | None = None,
    private_bytes: int = 0,
    generation: Generation = Generation.GFX8,
) -> Wavefront:
    """A wave of a group of its own, all lanes active, M0 all ones."""
    bench = Bench(b"\0\0\x81\xbf", memory)
    base = bench.buffer(64 * private_bytes) if private_bytes else 0
    residents: Residents[Wavefront] = Residents(0, Wavefront)
    residents.start(
        bench.group(lds=lds, private_bytes=private_bytes, private_base=base, generation=generation)
    )
    (group,) = residents._groups
    (wave,) = group.waves
    wave.sgprs[124] = 0xFFFF_FFFF
    return wave


def perform(
    done: Operation, wave: Wavefront, memory: FlatMemory | None = None
) -> MemoryAccess | None:
    """All three steps at once."""
    access = done.execute(wave)
    if access is not None:
        access.perform(memory or FlatMemory())
        access.complete()
    return access


def set_pair(wave: Wavefront, register: int, values: np.ndarray) -> None:
    """64-bit values of all lanes into two registers."""
    words = np.ascontiguousarray(values, np.uint64).view(np.uint32).reshape(-1, 2)
    wave.vgprs[register], wave.vgprs[register + 1] = words.T


def get_pair(wave: Wavefront, register: int) -> np.ndarray:
    """64-bit values of all lanes from two registers."""
    low, high = wave.vgprs[register].astype(np.uint64), wave.vgprs[register + 1].astype(np.uint64)
    return low | high << np.uint64(32)
