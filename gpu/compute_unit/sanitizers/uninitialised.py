"""Registers and LDS that are read before anything was written there.

A wave starts with the registers that the ABI fills; everything else is undefined on a GPU. Two
habits of compilers are exempt (`_harmless`), and instructions that move a register, or select one
of two, propagate its state: arrays in registers are copied whole, written or not, and indexed by a
chain of selects, most of whose results are discarded. Invariant: a bit is set for each lane of each
vector register, for each scalar register and for each byte of LDS that has been written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess, PairAccess
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.sanitizers.findings import Findings, place, register_name
from gpu.compute_unit.sanitizers.m0_relative import Ranges, resolved, used
from gpu.compute_unit.wave.lane_values import lanes_of, lanes_text
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.isa.instruction import Instruction, RegisterRange
from gpu.isa.semantics.sub_dword import PRESERVE
from gpu.isa.wave_registers import ALL, EXEC, M0
from runtime.requesters.port import AccessKind

_READ_LANE = "v_readlane_b32"
_WRITE_LANE = "v_writelane_b32"
_MIXED = ("v_mad_mixlo_f16", "v_mad_mixhi_f16")
_RELATIVE = ("v_movreld_b32", "v_movrels_b32", "v_movrelsd_b32")
_HAND_ON = ("v_mov_b32", "v_cndmask_b32", *_RELATIVE)
_INDEX = RegisterRange("s", M0, 1)
_HAND_ON_SCALARS = {"s_mov_b32": 1, "s_mov_b64": 2}
"""By name: how many registers."""
_GENERAL, _CODES = 102, 128
"""Operand codes below the first are general scalar registers, from the second on no registers."""
_VECTOR = 256
"""Operand codes from here on are vector registers."""


class _Written:
    """``vectors``: lanes of each vector register. ``scalars``: operand codes."""

    __slots__ = ("scalars", "scc", "vectors")

    def __init__(self, wave: Wavefront) -> None:
        start = next(each for each in wave.group.start.waves if each.number == wave.number)
        self.vectors = [0] * len(wave.vgprs)
        self.vectors[: len(start.vgprs)] = [ALL] * len(start.vgprs)
        self.scalars = {*range(len(start.sgprs)), EXEC, EXEC + 1}
        self.scc = False


class Uninitialised:
    """Finds what waves of a device read and have not written."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._written: dict[Wavefront, _Written] = {}
        self._lds: dict[Group[Any], npt.NDArray[np.bool_]] = {}

    def entered(self, group: Group[Any]) -> None:
        """A group is resident: its registers are as the ABI says."""
        self._lds[group] = np.zeros(len(group.lds.bytes), np.bool_)
        for wave in group.waves:
            self._written[wave] = _Written(wave)

    def forget(self, wave: Wavefront) -> None:
        """A wave has ended."""
        self._written.pop(wave, None)
        self._lds.pop(wave.group, None)

    def issue(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """Check what an instruction reads, and remember what it writes."""
        written = self._written[wave]
        instruction = resolved(wave, decoded.instruction)
        file = _handed_on(instruction)
        reads, writes = used(wave, instruction)
        for each in reads:
            index = each == _INDEX and instruction.name in _RELATIVE
            if (index or each.file not in file) and not _harmless(instruction, each):
                self._read(wave, decoded, written, each)
        if instruction.name == _READ_LANE:
            _hand_on_lane(written, instruction)
        elif "v" in file:
            _hand_on(wave, written, instruction, reads, writes)
        elif file:
            _hand_on_scalars(written, instruction)
        else:
            for each in writes:
                _write(wave, written, instruction, each)

    def _read(
        self, wave: Wavefront, decoded: DecodedInstruction, written: _Written, each: RegisterRange
    ) -> None:
        if each.file == "scc":
            if not written.scc:
                self._report(wave, decoded, "scc", "scc", "")
            return
        for number in range(each.first, each.first + each.size):
            name = register_name(each.file, number)
            if each.file == "s":
                if number not in written.scalars:
                    self._report(wave, decoded, name, name, "")
                    return  # one report of a pair is enough
                continue
            missing = _lanes_read(wave, decoded.instruction) & ~written.vectors[number]
            if missing:
                self._report(
                    wave, decoded, name, name, f", {lanes_text(lanes_of(missing).tolist())}"
                )
                return

    def access(self, wave: Wavefront, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """Check the bytes of LDS that an instruction reads, and remember what it writes."""
        written = self._lds[wave.group]
        if isinstance(access, LocalAccess):
            reads = access.change is not None or not access.values
            writes = access.change is not None or bool(access.values)
            for number, place in enumerate(access.places):
                offsets = place.offsets
                source = isinstance(access, PairAccess) and number == 1
                size = access.size
                places = offsets[offsets + size <= min(access.bound, wave.group.lds.size)]
                if reads:
                    self._read_lds(wave, decoded, written, places, size)
                if writes and not source:
                    written[places[:, None] + np.arange(size)] = True
        elif isinstance(access, VectorAccess):
            for part in access.parts:
                if not part.local:
                    continue
                offsets = part.addresses.astype(np.int64)
                places = offsets[offsets + part.size <= wave.group.lds.size]
                if access.movement.kind != AccessKind.STORE:
                    self._read_lds(wave, decoded, written, places, part.size)
                if access.movement.kind != AccessKind.LOAD:
                    written[places[:, None] + np.arange(part.size)] = True

    def _read_lds(
        self,
        wave: Wavefront,
        decoded: DecodedInstruction,
        written: npt.NDArray[np.bool_],
        places: npt.NDArray[np.int64],
        size: int,
    ) -> None:
        known = written[places[:, None] + np.arange(size)].all(axis=1)
        if not known.all():
            offset = int(places[int(np.argmin(known))])
            self._report(wave, decoded, "lds", f"LDS at offset {offset:#x}", "")

    def _report(
        self, wave: Wavefront, decoded: DecodedInstruction, key: str, what: str, lanes: str
    ) -> None:
        if not self._findings.known("uninitialised", decoded.instruction.address, key):
            self._findings.add(
                "uninitialised",
                f"{place(wave, decoded)}{lanes}, reads {what}, which nothing has written",
                "uninitialised",
                decoded.instruction.address,
                key,
            )


def _harmless(instruction: Instruction, each: RegisterRange) -> bool:
    """What compilers read undefined on purpose.

    A callee saves registers that its caller may never have written, to scratch and to lanes. Masks
    of lanes are joined with EXEC; bits outside of it do not matter. One half of a register, or the
    parts of M0 that are an index, are filled while the rest is still unknown.
    """
    if instruction.name == _WRITE_LANE:
        return True  # also its own register: the other lanes are only kept
    if instruction.name.startswith(("buffer_store", "scratch_store")):
        data = instruction.fields["vdata" if instruction.form == "MUBUF" else "data"]
        return each.file == "v" and each.first == data
    if _fills_part(instruction) and each in instruction.writes:
        return instruction.reads.count(each) == 1  # it is no source
    if each.file != "s" or not instruction.name.endswith("_b64"):
        return False
    return EXEC in (instruction.fields.get("ssrc0"), instruction.fields.get("ssrc1"))


def _fills_part(instruction: Instruction) -> bool:
    fields, opcode = instruction.fields, instruction.opcode
    if opcode.name.startswith("s_set_gpr_idx"):
        return True
    if "d16" in opcode.name:
        return "load" in opcode.name or "read" in opcode.name
    return "opsel" in opcode.flags or opcode.name in _MIXED or fields.get("dst_unused") == PRESERVE


def _lanes_read(wave: Wavefront, instruction: Instruction) -> int:
    if instruction.name.startswith("v_readfirstlane"):
        return wave.exec & -wave.exec or 1
    return wave.exec


def _write(
    wave: Wavefront, written: _Written, instruction: Instruction, each: RegisterRange
) -> None:
    if each.file == "scc":
        written.scc = True
    elif each.file == "s":
        written.scalars.update(range(each.first, each.first + each.size))
    else:
        lanes = ALL if instruction.name == _WRITE_LANE else wave.exec
        for number in range(each.first, each.first + each.size):
            written.vectors[number] |= lanes


def _handed_on(instruction: Instruction) -> str:
    """The register files that it only moves; empty if it uses their values.

    A mask that is moved to EXEC or VCC is used.
    """
    if instruction.name in _HAND_ON and instruction.form in ("VOP1", "VOP2", "VOP3"):
        return "v" if "src2" in instruction.fields else "vs"
    if instruction.name == _READ_LANE and instruction.fields["sdst"] < _GENERAL:
        return "v"
    if instruction.name in _HAND_ON_SCALARS and instruction.fields["sdst"] < _GENERAL:
        return "s"
    return ""


def _hand_on_lane(written: _Written, instruction: Instruction) -> None:
    """Which lane is read was computed, so one that is written is enough."""
    if _lanes_written(written, instruction.fields["src0"]):
        written.scalars.add(instruction.fields["sdst"])
    else:
        written.scalars.discard(instruction.fields["sdst"])


def _hand_on_scalars(written: _Written, instruction: Instruction) -> None:
    source, destination = instruction.fields["ssrc0"], instruction.fields["sdst"]
    for number in range(_HAND_ON_SCALARS[instruction.name]):
        if source >= _CODES or source + number in written.scalars:
            written.scalars.add(destination + number)
        else:
            written.scalars.discard(destination + number)


def _hand_on(
    wave: Wavefront, written: _Written, instruction: Instruction, reads: Ranges, writes: Ranges
) -> None:
    """Each lane of the destination is as written as the source that it takes."""
    fields = instruction.fields
    taken = _lanes_written(written, fields["src0"])
    if instruction.name in _RELATIVE:
        source = next((each.first for each in reads if each.file == "v"), None)
        taken = taken if source is None else written.vectors[source]
    if "src1" in fields:
        mask = wave.sgprs[fields["src2"]] | wave.sgprs[fields["src2"] + 1] << 32
        taken = taken & ~mask | _lanes_written(written, fields["src1"]) & mask
    for each in writes:
        kept = written.vectors[each.first] & ~wave.exec
        written.vectors[each.first] = kept | taken & wave.exec


def _lanes_written(written: _Written, source: int) -> int:
    if source >= _VECTOR:
        return written.vectors[source - _VECTOR]
    return ALL if source >= _CODES or source in written.scalars else 0
