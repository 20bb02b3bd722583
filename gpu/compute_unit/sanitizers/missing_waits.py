"""Registers that are used before the memory instruction that fills them has returned.

What a wait guarantees is a matter of the program alone (AMDGPU usage guide, "s_waitcnt"): vector
memory instructions return in order; LDS instructions too, among themselves, so that a wait for n
leaves only the last n of them, whatever else counts in ``lgkm``; scalar loads and FLAT instructions
in any order, so that only a wait for 0 guarantees anything. So the check needs no clock, and finds
on a fast memory what would break on a slow one.

Invariant: an instruction is outstanding here until a wait of its wave guarantees its return.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.program.decoded_program import Control, DecodedInstruction
from gpu.compute_unit.sanitizers.findings import (
    Findings,
    instruction_text,
    place,
    register_name,
)
from gpu.compute_unit.sanitizers.m0_relative import used
from gpu.compute_unit.wave.lane_values import lanes_of, lanes_text
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.encoding.immediates import WaitCounts, split_wait
from gpu.isa.instruction import Instruction, RegisterRange, Unit

_CROSS_LANE = ("v_readlane", "v_readfirstlane", "ds_bpermute", "ds_permute", "ds_swizzle")


@dataclass(slots=True, eq=False)
class _Outstanding:
    """``vm``/``lgkm``: whether its data still need that counter; ``counts_vm``/``counts_lgkm``:
    whether it may still be in it. ``ordered``: LDS alone. ``exec``: lanes it fills."""

    decoded: DecodedInstruction
    exec: int
    vm: bool
    lgkm: bool
    ordered: bool
    fills: tuple[RegisterRange, ...]
    counts_vm: bool
    counts_lgkm: bool


class Waits:
    """Finds the missing waits of all waves of a device."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._outstanding: dict[Wavefront, list[_Outstanding]] = {}

    def forget(self, wave: Wavefront) -> None:
        """A wave has ended."""
        self._outstanding.pop(wave, None)

    def issue(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """Look at the registers of an instruction that is about to execute."""
        outstanding = self._outstanding.get(wave)
        if not outstanding:
            return
        if decoded.control is Control.WAIT:
            self._wait(wave, split_wait(decoded.value, decoded.instruction.generation))
            return
        instruction = decoded.instruction
        lanes = _lanes_used(wave, instruction)
        for load in outstanding:
            if load.vm or load.lgkm:
                for fill in load.fills:
                    self._look(wave, decoded, load, fill, lanes)

    def access(
        self, wave: Wavefront, decoded: DecodedInstruction, access: MemoryAccess | None
    ) -> None:
        """A memory instruction was executed: from now on it is outstanding."""
        instruction = decoded.instruction
        unit = instruction.unit
        vector = unit is Unit.VECTOR_MEMORY
        flat = instruction.form == "FLAT"
        if access is None:
            return  # no lane is active: it returns at once
        vm = vector
        lgkm = not vector
        if flat and isinstance(access, VectorAccess):
            vm = any(not part.local for part in access.parts)
            lgkm = any(part.local for part in access.parts)
        fills = tuple(each for each in instruction.writes if each.file in ("v", "s"))
        outstanding = _Outstanding(
            decoded, wave.exec, vm, lgkm, unit is Unit.LDS, fills, vector, flat or not vector
        )
        self._outstanding.setdefault(wave, []).append(outstanding)

    def _look(
        self,
        wave: Wavefront,
        decoded: DecodedInstruction,
        load: _Outstanding,
        fill: RegisterRange,
        lanes: int,
    ) -> None:
        instruction = decoded.instruction
        vectors = fill.file == "v"
        if vectors and not lanes & load.exec:
            return
        reads, writes = used(wave, instruction)
        for each in reads:
            number = _overlap(fill, each)
            if number is not None:
                self._report(wave, decoded, load, fill.file, number, lanes, "reads")
                return
        if vectors and load.vm and not load.lgkm and instruction.unit is Unit.VECTOR_MEMORY:
            return  # it returns later than the one before
        if vectors and load.ordered and instruction.unit is Unit.LDS:
            return
        for each in writes:
            number = _overlap(fill, each)
            if number is not None:
                self._report(wave, decoded, load, fill.file, number, lanes, "overwrites")
                return

    def _report(
        self,
        wave: Wavefront,
        decoded: DecodedInstruction,
        load: _Outstanding,
        file: str,
        number: int,
        lanes: int,
        verb: str,
    ) -> None:
        load.fills = ()  # one report of a load is enough
        key = ("waits", verb, load.decoded.instruction.address)
        if self._findings.known(*key):
            return
        name = register_name(file, number)
        counters = " and ".join(
            text for text, needed in (("vmcnt", load.vm), ("lgkmcnt", load.lgkm)) if needed
        )
        if verb == "reads":
            effect = "it may find the old value"
        else:
            effect = "the load may come later and undo it"
        which = f", {lanes_text(lanes_of(lanes & load.exec).tolist())}" if file == "v" else ""
        self._findings.add(
            "waits",
            f"{place(wave, decoded)}{which}, {verb} {name} before "
            f"{instruction_text(wave.group.start, load.decoded)} is known to have returned "
            f"it: {effect}; no s_waitcnt in between waits for its {counters}",
            *key,
        )

    def _wait(self, wave: Wavefront, counts: WaitCounts) -> None:
        """What a wait guarantees to have returned."""
        vm, _, lgkm = counts
        outstanding = self._outstanding[wave]
        vector = [each for each in outstanding if each.counts_vm]
        others = [each for each in outstanding if each.counts_lgkm]
        if vm < wave.most.vm:
            for each in vector[: max(0, len(vector) - vm)]:
                each.vm = each.counts_vm = False
        if lgkm == 0:
            returned = others
        elif lgkm < wave.most.lgkm:
            ordered = [each for each in others if each.ordered]
            returned = ordered[: max(0, len(ordered) - lgkm)]
        else:
            returned = []
        for each in returned:
            each.lgkm = each.counts_lgkm = False
        self._outstanding[wave] = [
            each for each in outstanding if each.counts_vm or each.counts_lgkm
        ]


def _overlap(fill: RegisterRange, used: RegisterRange) -> int | None:
    """The first register that both name."""
    if fill.file != used.file:
        return None
    first = max(fill.first, used.first)
    return first if first < min(fill.first + fill.size, used.first + used.size) else None


def _lanes_used(wave: Wavefront, instruction: Instruction) -> int:
    """Lanes whose registers matter: the active ones, or all where lanes read each other."""
    if instruction.form == "DPP" or instruction.name.startswith(_CROSS_LANE):
        return (1 << 64) - 1
    return wave.exec
