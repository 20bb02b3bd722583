"""The issue engine of a device: native code that issues, fetches and runs the caches, tick by tick.

It returns whenever Python is needed: to run waves ahead of the clock, to send the requests of their
instructions, to process answers. `IssueEngine.run` does these in turn until something outside of
compute units and memory is due.

Invariant: while the issue engine runs, it owns the clocks of memory and of the protocol's engine;
they are updated before any Python code reads them.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess
from gpu.compute_unit.native.counters import NAMES, config_of, statistics_of
from gpu.compute_unit.native.ctypes_api import IssueEngineLibrary
from gpu.compute_unit.native.layout import (
    APPENDED,
    LIST_ROOM,
    LOG_ROOM,
    LOGGED,
    LOW_32_BITS,
    MOST_SIMDS,
    NO_WAVE,
    NONE,
    RECORD,
    Entry,
    Reason,
    State,
)
from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.compute_unit.native.run_ahead import AheadWave
from gpu.compute_unit.pipeline.arbitration import Policy, oldest_first, round_robin
from gpu.compute_unit.pipeline.lds_and_scalar import give_back
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.program.faults import WAVE_ERRORS
from gpu.compute_unit.program.statistics import Statistics
from gpu.device_limits import MOST_UNITS
from gpu.dispatch.device_loop import Due
from gpu.dispatch.launch import Fault
from gpu.dispatch.occupancy import Limits
from gpu.isa import fp_environment
from gpu.memory.address_space import MemoryType, Unmapped
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.native_backend import NativeBackend, Words
from gpu.memory.coherent.request_splitting import UnderWay
from gpu.memory.interface import hand_out
from runtime.native.system import RunStatus
from runtime.requesters.port import Scope

SLOTS: Final = 64
"""Slots for fetches are reserved so many at a time."""


def can_steer(memory: object, timing: Timing, policy: Policy, limits: Limits) -> bool:
    """Whether the issue engine can run units like these on this memory."""
    return (
        isinstance(memory, CoherentMemory)
        and isinstance(memory.backend, NativeBackend)
        and memory.recording is None
        and memory.steering is None
        and timing.fetch_bytes <= memory.line_size
        and policy in (oldest_first, round_robin)
        and limits.simds <= MOST_SIMDS
        and memory.ports.cus <= MOST_UNITS
    )


def scope_of(memory_type: MemoryType) -> int:
    """What memory of this type adds to the scope of a request."""
    return Scope.GLC * (memory_type is MemoryType.UC) | Scope.SLC * memory_type.bypasses


class IssueEngine:
    """``units``: its compute units. ``memory``: one that `can_steer` accepts; only `run` may run it
    during a call."""

    def __init__(
        self,
        library: IssueEngineLibrary,
        memory: CoherentMemory,
        timing: Timing,
        limits: Limits,
        policy: Policy,
        hang_detector: HangDetector,
    ) -> None:
        backend = memory.backend
        assert isinstance(backend, NativeBackend), "see can_steer"
        self._library = library
        self._memory = memory
        self._backend = backend
        self._timing = timing
        self._hang_detector = hang_detector
        self._state = State()
        self._list: ctypes.Array[ctypes.c_uint64] = (ctypes.c_uint64 * LIST_ROOM)()
        self._log = ctypes.create_string_buffer(LOGGED.size * LOG_ROOM)
        self._next_ticks = (ctypes.c_uint64 * MOST_UNITS)()
        self._state.log = ctypes.addressof(self._log)
        self._state.next_ticks = ctypes.addressof(self._next_ticks)
        config = config_of(timing, limits, policy, memory.ports, memory.line_size)
        self._at = library.new(config, self._state)
        weakref.finalize(self, library.free, self._at)
        self._run, self._append, self._lower = library.run, library.append, library.lower
        self._retire = library.retire
        self._run_external = ctypes.cast(
            backend.library.run_external,  # type: ignore[arg-type]
            ctypes.c_void_p,
        )
        self._slots: object = None
        self._block = 0
        self._extent = (-1, -1)
        self._names: dict[str, int] = {}
        self._actions: dict[int, Callable[[], None]] = {}
        self._action = 0
        self._bytes = ctypes.create_string_buffer(timing.fetch_bytes)
        self.waves: dict[int, AheadWave] = {}
        self.units: Sequence[NativeUnit] = [
            NativeUnit(index, memory, timing, limits, hang_detector, self)
            for index in range(memory.ports.cus)
        ]
        self._handlers = self._handled()
        memory.steering = self
        backend.follow(self)

    # ------------------------------------------------------------------ time

    def run(self, due: Due) -> bool:
        """Alternate between units and memory until something is due elsewhere or no unit can
        proceed. Returns whether a unit has acted.

        The caller has set numpy to ignore floating-point warnings. Raises what
        `gpu.memory.coherent.coherent_memory.CoherentMemory.run` raises.
        """
        state, memory, backend = self._state, self._memory, self._backend
        self._begin()
        acted = state.ran
        while True:
            if backend.entered:
                backend.hand_over()
            until = due()
            state.until = NONE if until is None else max(until, memory.now + 1)
            state.at_once = memory.answers_at_once
            state.pending = memory.under_way
            state.rung = memory.rung
            slots = backend.slots
            if slots is not self._slots or slots.moved:
                self._point()
            reason = self._run(self._at, self._run_external, self._block, slots.pointer)
            memory.now = state.now
            backend.look(state.tick, state.due)
            if state.logged:
                self._catch_up()
            if not self._handlers[reason]():
                continue
            until = due()
            if (until is not None and until <= memory.now) or reason <= Reason.AT_REST:
                return bool(state.ran != acted)

    def _begin(self) -> None:
        """Process the log since the last time."""
        state, memory, backend = self._state, self._memory, self._backend
        backend.make_room()
        state.now, state.tick, state.due = memory.now, backend.tick, backend.due
        space = memory.space
        extent = (space.extent, len(space.allocations))
        if extent != self._extent:
            self._extent = extent
            self._library.forget_addresses(self._at)
        self._limit_run()

    def _point(self) -> None:
        """The arrays of the slots have moved."""
        slots, state = self._backend.slots, self._state
        self._slots = slots
        self._block = self._backend.system.address  # another system has other slots
        slots.moved = False
        state.addresses = slots.address.ctypes.data
        state.bytes = slots.bytes.ctypes.data
        state.given = slots.view.given
        if slots.view.room > len(self._list):
            self._list = (ctypes.c_uint64 * slots.view.room)()
        state.list = ctypes.addressof(self._list)

    def _limit_run(self) -> None:
        self._state.observe = self._hang_detector.observing
        self._state.budget = self._hang_detector.room

    # ------------------------------------------------------------------ why a run returned

    def _handled(self) -> Sequence[Callable[[], bool]]:
        """Handle a reason; returns whether something elsewhere may be due after it."""
        return (
            lambda: True,
            lambda: True,
            self._quiet,
            self._answered,
            self._judged,
            self._run_ahead,
            self._execute,
            self._perform,
            self._send,
            self._event,
            self._went_back,
            self._group_ended,
            self._wave_failed,
            self._unmapped,
            self._address,
            self._more_slots,
            self._listen,
            self._place,
            self._noticed,
        )

    def _wave(self) -> AheadWave | None:
        """None: an earlier event in the log has ended its group."""
        return self.waves.get(self._state.wave)

    def _unit_of(self, wave: AheadWave) -> NativeUnit:
        return self.units[wave.unit]

    def _quiet(self) -> bool:
        """Many ticks have passed, or the engine is at rest while something is unanswered."""
        self._memory.deliver([])
        if self._state.asked:
            self._memory.watch(self._under_way())
        return False

    def _answered(self) -> bool:
        """Memory has answered requests of pipelines or of other agents."""
        backend, memory, state = self._backend, self._memory, self._state
        parts = [
            backend.taken(word & LOW_32_BITS, word >> 32) for word in self._list[: state.listed]
        ]
        answers = memory.deliver(parts)
        self._library.answered(self._at, bool(answers))
        memory.reached(state.now)
        hand_out(answers)
        if state.notices:
            return self._notices()
        return bool(answers)

    def _judged(self) -> bool:
        if self._state.status == RunStatus.FINDING:
            self._backend.judge()
        self._backend.exhausted()
        self._library.replayed(self._at)
        return False

    def _run_ahead(self) -> bool:
        listed = self._list[: self._state.listed]
        out: list[bytes] = []
        for place, fetched, returned in zip(listed[::3], listed[1::3], listed[2::3], strict=True):
            wave = self.waves.get(place)
            if wave is None:
                continue
            if returned:
                self._take_returned(wave)
            records = self.units[wave.unit].ahead.run(wave, fetched)
            out += APPENDED.pack(place, len(records) // RECORD.size), records
        self._append(self._at, b"".join(out), len(out) // 2)
        if fp_environment.current != fp_environment.PLAIN:
            fp_environment.use(fp_environment.PLAIN)
        return False

    def _execute(self) -> bool:
        wave = self._wave()
        if wave is None:
            return False
        if self._state.handle:
            self._take_returned(wave)
        record = self.units[wave.unit].ahead.execute(wave, self._state.address)
        fp_environment.use(fp_environment.PLAIN)
        self._library.replace(self._at, wave.place, record)
        return False

    def _take_returned(self, wave: AheadWave) -> None:
        wave.take_returned()
        if self._hang_detector.observing:  # held before that, it may have been a store
            self._hang_detector.changed()

    def _perform(self) -> bool:
        """An LDS access that may fail issues."""
        wave = self._wave()
        if wave is None:
            return False
        decoded, access = wave.held[self._state.handle]
        try:
            access.perform()
        except WAVE_ERRORS as error:
            self._unit_of(wave).fail_wave(wave, decoded, error)
        return False

    def _send(self) -> bool:
        listed = self._list[: self._state.listed]
        vector = self.units[self._state.unit].vector
        for place, handle in zip(listed[::2], listed[1::2], strict=True):
            wave = self.waves.get(place)
            if wave is not None:
                vector.hand_over(wave.held.pop(handle))
        return False

    def _event(self) -> bool:
        state = self._state
        if state.wave == NO_WAVE:
            self._actions.pop(state.handle)()
            return False
        wave = self._wave()
        if wave is None:
            return False
        unit = self._unit_of(wave)
        held = wave.held.pop(state.handle)
        if not isinstance(held, tuple):
            unit.deliver(wave, held)
        elif isinstance(held[1], ScalarAccess):
            unit.scalar.send(wave, *held)
        else:
            give_back(unit, wave, *held)
        return False

    def _went_back(self) -> bool:
        """A wave branched backwards while the hang detector looks for states that repeat."""
        wave = self._wave()
        if wave is None or not self._hang_detector.observing:
            return False
        if wave.rooms:
            self._take_returned(wave)
        if self._state.handle or wave.pending or wave.outstanding or wave.rooms:
            return False
        try:
            self._hang_detector.state(wave)
        except Fault as fault:
            self._unit_of(wave).fail_wave(wave, None, fault)
        return False

    def _group_ended(self) -> bool:
        wave = self._wave()
        if wave is not None:
            self._unit_of(wave).finish(wave)
        return False

    def _wave_failed(self) -> bool:
        wave = self._wave()
        if wave is not None:
            decoded, error = wave.held.pop(self._state.handle)
            self._unit_of(wave).fail_wave(wave, decoded, error)
        return False

    def _unmapped(self) -> bool:
        wave = self._wave()
        if wave is None:
            return False
        assert wave.unmapped is not None, "reported to the issue engine"
        wave.pc = self.known(wave)[0]
        self._unit_of(wave).fail_wave(wave, None, wave.unmapped)
        return False

    def _address(self) -> bool:
        """Whether this address may be fetched; asked once for each address."""
        wave, address = self._wave(), self._state.address
        if wave is None:
            return False
        try:
            place = self._memory.note_fetches(address, self._timing.fetch_bytes)
        except Unmapped as error:
            wave.unmapped = error
            self._library.unmapped(self._at)
            return False
        self._library.allow(self._at, address, Scope.INSTRUCTION | scope_of(place.memory_type))
        return False

    def _listen(self) -> bool:
        """The log is long; `run` has processed it."""
        self._backend.collect_requests()
        return False

    def _more_slots(self) -> bool:
        slots = np.array(self._backend.take_slots(SLOTS), np.uint64)
        self._library.slots(self._at, slots.ctypes.data, len(slots))
        return False

    def _place(self) -> bool:
        """Whether requests may be made of this memory; else Python makes this one."""
        wave, state = self._wave(), self._state
        if wave is None:
            return False
        found = self._memory.plain(state.address, state.behind, bool(state.handle))
        if found is None:
            behind = ctypes.c_uint64()
            room = wave.taken_out(self._library.hand_back(self._at, ctypes.addressof(behind)))
            self._unit_of(wave).carry_out(wave, room, behind.value)
            return False
        place, cached, stored = found
        self._library.place(
            self._at,
            place.start,
            place.limit(False),
            cached.ctypes.data,
            stored.ctypes.data,
            place.writable,
            scope_of(place.memory_type),
        )
        return False

    def _noticed(self) -> bool:
        self._memory.reached(self._state.now)
        return self._notices()

    def _notices(self) -> bool:
        """Waves that have ended a group, or whose next instruction to return is Python's."""
        ended = ctypes.c_uint64()
        while self._state.notices:
            wave = self.waves.get(self._library.notice(self._at, ctypes.addressof(ended)))
            if wave is None:
                continue
            unit = self._unit_of(wave)
            if ended.value:
                unit.finish(wave)
            else:
                unit.vector.returned(wave)
        return True

    # ------------------------------------------------------------------ the log

    def _catch_up(self) -> None:
        """Process the log of what ran without Python, in order."""
        state, hang_detector = self._state, self._hang_detector
        count, state.logged = state.logged, 0
        assert count <= LOG_ROOM, "a run returns long before"
        logged = bytes(memoryview(self._log)[: count * LOGGED.size])
        for entry, who, what in LOGGED.iter_unpack(logged):
            if entry >= Entry.CODE:
                self._code(entry, who, what)
                continue
            wave = self.waves.get(who)
            if wave is None:
                continue
            if entry == Entry.ENDED:
                wave.ended = True
                hang_detector.progress()
            else:
                try:
                    hang_detector.executed(wave, what)
                except Fault as fault:
                    self._unit_of(wave).fail_wave(wave, None, fault)
        self._limit_run()

    def _code(self, entry: int, who: int, what: int) -> None:
        ahead = self.units[who].ahead
        if entry == Entry.FORGET:
            ahead.forget()
        else:
            address = self._library.code(self._at, who, what, ctypes.addressof(self._bytes))
            ahead.fetched(address, self._bytes.raw)

    # ------------------------------------------------------------------ for the units

    def start(self, unit: int, waves: list[AheadWave]) -> int:
        """Start a group's waves; returns the number of the group."""
        self._state.now = self._memory.now
        given = np.array([[wave.simd, wave.age, wave.pc, 0] for wave in waves], np.uint64).T.copy()
        simds, ages, pcs, numbers = (row.ctypes.data for row in given)
        number = self._library.start(self._at, unit, len(waves), simds, ages, pcs, numbers)
        for wave, place in zip(waves, given[3].tolist(), strict=True):
            wave.place = place
            wave.unit = unit
            self.waves[place] = wave
        return number

    def drop(self, number: int, waves: list[AheadWave]) -> None:
        """Remove a group. Its waves' numbers will be reused, so the log is processed first."""
        if self._state.logged:
            self._catch_up()
        self._library.drop(self._at, number)
        for wave in waves:
            del self.waves[wave.place]

    def lower(self, wave: AheadWave, vm: int, lgkm: int) -> bool:
        """Lower counters; returns whether that has ended the group."""
        return bool(self._lower(self._at, wave.place, vm, lgkm))

    def retire(self, wave: AheadWave) -> int:
        """Let the next vector memory instruction of a wave return. 0: it is the issue engine's own;
        `GROUP_ENDED`: that has ended the group."""
        return int(self._retire(self._at, wave.place))

    def later(self, unit: int, tick: int, action: Callable[[], None]) -> None:
        """Do something at a later tick."""
        self._action = self._action + 1 & LOW_32_BITS
        self._actions[self._action] = action
        self._library.later(self._at, unit, tick, self._action)

    def forget_code(self, unit: int) -> None:
        """Memory may hold other code now."""
        self._library.forget_code(self._at, unit)

    def next_tick(self, unit: int) -> int | None:
        """When the unit acts next."""
        tick = self._next_ticks[unit]
        return None if tick == NONE else tick

    def known(self, wave: AheadWave) -> list[int]:
        """The address of what issues next, whether it waits at a barrier, how many records it
        has."""
        known = (ctypes.c_uint64 * 3)()
        self._library.wave(self._at, wave.place, ctypes.addressof(known))
        return list(known)

    def name_of(self, mnemonic: str) -> int:
        """The number of a memory instruction."""
        number = self._names.get(mnemonic)
        if number is None:
            number = self._names[mnemonic] = len(self._names)
            assert number < NAMES, "no GPU has so many memory instructions"
        return number

    def statistics(self, unit: int) -> Statistics:
        """The statistics of a unit."""
        return statistics_of(self._library, self._at, unit, self._names)

    # ------------------------------------------------------------------ for the memory

    def _under_way(self) -> list[UnderWay]:
        """The requests that the issue engine has made itself."""
        words = np.zeros((self._state.asked, len(UnderWay._fields)), np.uint64)
        self._library.under_way(self._at, words.ctypes.data, len(words))
        return [UnderWay(*request) for request in words.tolist()]

    @property
    def under_way(self) -> int:
        """Requests of instructions that were made here and are not answered."""
        return int(self._state.asked - self._state.fetching)

    def look(self) -> None:
        """The memory has run: there may be answers to requests that were made here."""
        came = self._backend.came
        if not came:
            return
        self._point()
        self._state.now = self._memory.now
        words = np.array(came, np.uint64)
        came.clear()
        self._library.came(self._at, words.ctypes.data, len(words))
        self._notices()

    def take_request_log(self) -> tuple[Words, int]:
        """The runs of the protocol's engine since the last call, and how many parts they
        contain."""
        count = self._library.request_log(self._at, None, 0, None)
        words = np.zeros(count, np.uint64)
        parts = ctypes.c_uint64()
        self._library.request_log(self._at, words.ctypes.data, count, ctypes.addressof(parts))
        return words, parts.value

    def stop_logging(self) -> None:
        """The log is no longer needed."""
        self._library.stop_logging(self._at)
