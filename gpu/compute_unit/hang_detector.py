"""Detection of kernels that never end, and a report of what their waves wait for.

A kernel may wait for memory that no agent will change. That is certain once every wave has returned
to a state it was in before (registers, LDS, address) while no store or atomic has changed a word in
between: from there it can only repeat. Waves whose registers count, or that read a clock, never
return to a state; for them a fixed limit holds.

A kernel may also wait for the host. While the host waits for a limited time, nothing is reported;
while it waits on a condition of its own, only the fixed limit holds. Nor is anything reported
while the program of a processor is at work, until it waits for memory itself.

Looking at states costs time, so it begins when no wave has ended for `patience` wave instructions,
and stops when one ends. Invariant: all units of a device share one detector; it never stops a
kernel whose memory or states still change before `still_limit` wave instructions have gone by
without a wave's end or a changed word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarKind
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.lane_values import Values, lanes_text
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.dispatch.launch import Fault
from gpu.host_wait import HostWait
from gpu.memory.lane_atomics import apply
from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind

PATIENCE: Final = 50_000
STILL_LIMIT: Final = 20_000_000
TIMED_STILL_LIMIT: Final = 2_000_000
"""For units with time, whose instructions take that much longer."""
RETURNS: Final = 8
"""How often a wave must return to a state before it counts as repeating."""
SHOWN_WAVES: Final = 8
SHOWN_LANES: Final = 8

_LOCKS: Final = (AtomicKind.CAS, AtomicKind.EXCHANGE)


class Livelock(Fault):
    """No wave will ever end, or none has for very long."""


class _Seen:
    """What a wave did since memory last changed. ``polls``: its memory accesses by address of the
    instruction, the last of each."""

    __slots__ = ("polls", "returns", "states")

    def __init__(self) -> None:
        self.states: set[int] = set()
        self.returns = 0
        self.polls: dict[int, tuple[DecodedInstruction, MemoryAccess]] = {}


class HangDetector:
    """``patience``, ``still_limit``: wave instructions, see above. ``limit``: of one device run in
    all, or None. ``observing``: units call `note` and `state` only then."""

    def __init__(
        self,
        patience: int = PATIENCE,
        still_limit: int = STILL_LIMIT,
        limit: int | None = None,
    ) -> None:
        self.patience = patience
        self.still_limit = still_limit
        self.limit = limit
        self.observing = False
        self.waiting = HostWait.FOR_EVER
        self.acting = 0
        self.total = 0
        self._quiet = 0
        self._still = 0
        self._seen: dict[Wavefront, _Seen] = {}
        self._words: dict[int, bytes] = {}
        self._holders: dict[int, tuple[Wavefront, int]] = {}
        self._units: list[Callable[[], Iterable[Wavefront]]] = []

    def add(self, waves: Callable[[], Iterable[Wavefront]]) -> None:
        """Register a unit: a function that lists its resident waves."""
        self._units.append(waves)

    def progress(self) -> None:
        """A wave has started or ended, or another agent has changed memory."""
        self._quiet = self._still = 0
        self.observing = False
        self._seen.clear()
        self._words.clear()

    @contextmanager
    def moving(self) -> Iterator[None]:
        """While waves are taken off a unit or put back: that is no progress."""
        kept = (self._quiet, self._still, self.observing)
        yield
        self._quiet, self._still, self.observing = kept

    def executed(self, wave: Wavefront, count: int) -> None:
        """Count instructions of a wave. Raises `Livelock` at a limit."""
        self.total += count
        self._quiet += count
        self.check_limit(wave)
        if self.observing:
            self._still += count
            excused = self.acting or self.waiting is HostWait.FOR_A_WHILE
            if self._still > self.still_limit and not excused:
                raise Livelock(
                    f"no wave has ended and no memory has changed for {self._still:,} wave "
                    f"instructions\n{self._report()}",
                    wave.group.start,
                )
        elif self._quiet > self.patience:
            self.observing = True

    @property
    def room(self) -> int:
        """Instructions that may run before they have to be reported to `executed`."""
        left = self.still_limit - self._still if self.observing else self.patience - self._quiet
        return left if self.limit is None else min(left, self.limit - self.total)

    def check_limit(self, wave: Wavefront) -> None:
        """Raises `Livelock` for a wave that is about to run beyond the limit."""
        if self.limit is not None and self.total > self.limit:
            raise Livelock(
                f"{self.limit:,} wave instructions have run, the limit that was given\n"
                f"{self._report()}",
                wave.group.start,
            )

    # ------------------------------------------------------------------ what waves do

    def lock(self, access: VectorAccess) -> None:
        """A compare-and-swap or exchange has returned: remember who changed which word."""
        if access.movement.op not in _LOCKS:
            return
        for part in access.parts:
            old = part.result
            if old is None or part.local:
                continue
            operands, compares = access.operands(part)
            old = old.view(operands.dtype).reshape(-1)
            changed = apply(access.movement.op, old, operands, compares) != old
            for row in np.flatnonzero(changed).tolist():
                lane = int(access.lanes[row if part.rows is None else part.rows[row]])
                self._holders[int(part.addresses[row])] = (access.wave, lane)

    def note(self, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """An access that has returned, while observing."""
        if isinstance(access, VectorAccess):
            changed = self._changes(access)
        elif isinstance(access, ScalarAccess):
            changed = access.kind.value == "store"
        else:
            changed = False  # LDS is part of a wave's state
        if changed:
            self.changed()
        seen = self._seen.setdefault(access.wave, _Seen())
        if isinstance(access, ScalarAccess) and access.kind is ScalarKind.CLOCK:
            seen.states.clear()  # later execution depends on the time, even if no register shows it
            seen.returns = 0
        seen.polls[decoded.instruction.address] = (decoded, access)

    def changed(self) -> None:
        """A word of memory may have another value now."""
        self._still = 0
        self._seen.clear()

    def state(self, wave: Wavefront) -> None:
        """Record the state of a wave at a point where it may repeat, while observing. Raises
        `Livelock` when all waves repeat."""
        seen = self._seen.setdefault(wave, _Seen())
        state = _digest(wave)
        if state not in seen.states:
            seen.states.add(state)
            return
        seen.returns += 1
        in_vain = not self.acting and self.waiting is HostWait.FOR_EVER
        certain = seen.returns >= RETURNS and in_vain
        if certain and self._all_repeat():
            raise Livelock(
                "every wave repeats what it did, and no memory changes any more\n" + self._report(),
                wave.group.start,
            )

    def _changes(self, access: VectorAccess) -> bool:
        """Whether a word in memory may have another value now."""
        kind = access.movement.kind
        if kind == AccessKind.LOAD:
            return False
        changed = False
        for part in access.parts:
            if kind == AccessKind.STORE:
                changed |= self._stores(part.addresses, access.values_of(part))
            elif part.result is None:
                changed = True  # the old value is unknown
            else:
                operands, compares = access.operands(part)
                old = part.result.view(operands.dtype).reshape(-1)
                new = apply(access.movement.op, old, operands, compares)
                changed |= bool((new != old).any())
        return changed

    def _stores(self, addresses: Values, values: Values) -> bool:
        changed = False
        for address, value in zip(addresses.tolist(), values):
            data = value.tobytes()
            if self._words.get(address) != data:
                self._words[address] = data
                changed = True
        return changed

    def _all_repeat(self) -> bool:
        for wave in self._waves():
            if wave.at_barrier:
                continue
            seen = self._seen.get(wave)
            if seen is None or seen.returns < RETURNS:
                return False
        return True

    # ------------------------------------------------------------------ report

    def _waves(self) -> Iterable[Wavefront]:
        for waves in self._units:
            yield from waves()

    def _report(self) -> str:
        lines = []
        waves = list(self._waves())
        for wave in waves[:SHOWN_WAVES]:
            address, exec = wave.next_issue
            if wave.at_barrier:
                lines.append(f"{wave} waits at a barrier, before {address:#x}")
                continue
            shown = "" if exec is None else f", EXEC {exec:#x}"
            lines.append(f"{wave} goes round at {address:#x}{shown}")
            seen = self._seen.get(wave)
            for decoded, access in seen.polls.values() if seen else ():
                address = decoded.instruction.address
                lines.append(f"  at {address:#x} `{decoded}`{wave.line_text(address)}")
                lines += [f"    {line}" for line in self._poll_lines(access)]
        if len(waves) > SHOWN_WAVES:
            lines.append(f"and {len(waves) - SHOWN_WAVES} more waves")
        return "\n".join(lines)

    def _poll_lines(self, access: MemoryAccess) -> list[str]:
        """Which lanes read which address, what they found, which wave changed it last."""
        groups: dict[tuple[int, str], list[int]] = {}
        for lane, address, found in _accesses(access):
            groups.setdefault((address, found), []).append(lane)
        space = "LDS offset" if isinstance(access, LocalAccess) else "address"
        lines = []
        for (address, found), lanes in list(groups.items())[:SHOWN_LANES]:
            line = f"{_lane_text(lanes)}{space} {address:#x}{found}"
            holder = None if isinstance(access, LocalAccess) else self._holders.get(address)
            if holder is not None:
                line += f"; changed last by lane {holder[1]} of {holder[0]}"
            lines.append(line)
        if len(groups) > SHOWN_LANES:
            lines.append(f"and {len(groups) - SHOWN_LANES} more addresses")
        return lines


def _accesses(access: MemoryAccess) -> Iterable[tuple[int, int, str]]:
    """Lane (-1: the whole wave), address, what was found there."""
    if isinstance(access, VectorAccess):
        for part in access.parts:
            for row, address in enumerate(part.addresses.tolist()):
                lane = int(access.lanes[row if part.rows is None else part.rows[row]])
                yield lane, address, "" if part.result is None else _found(part.result[row])
    elif isinstance(access, ScalarAccess):
        yield -1, access.address, _found(np.array(access.dwords, np.uint32))
    elif isinstance(access, LocalAccess):
        results: list[Values | None] = [*access.results] or [None] * len(access.places)
        for place, values in zip(access.places, results):
            for row, address in enumerate(place.offsets.tolist()):
                found = "" if values is None else _found(values[row])
                yield int(access.lanes[row]), address, found


def _found(value: Any) -> str:
    words = np.atleast_1d(value).tolist()
    return ", which holds " + " ".join(f"{word:#x}" for word in words[:4])


def _lane_text(lanes: list[int]) -> str:
    """``lanes 1-3, 7: ``; nothing for the whole wave."""
    return "" if lanes[0] < 0 else f"{lanes_text(sorted(lanes))}: "


def _digest(wave: Wavefront) -> int:
    """A hash of all that decides what a wave does next, except memory."""
    lds = wave.group.lds.bytes
    registers = wave.vgprs.tobytes()
    return hash((wave.pc, wave.scc, wave.mode, tuple(wave.sgprs), registers, lds.tobytes()))
