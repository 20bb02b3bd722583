"""Where a kernel's time goes: what each instruction issued, waited for, and asked of memory.

Cycles that a wave waits are those of the instruction that it waits at: of the ``s_waitcnt`` or
barrier that it stands behind, else of the one that it wants to issue.

A line that a load wants is a hit if the first-level cache gave it in the transition that took the
request, else a miss; a scalar load counts once.

Invariant: the sum of all stalls by reason is that of `Statistics.stalls`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from gpu.compute_unit.memory_ops.access import MemoryAccess
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.wavefront import Wavefront
from slicc.text.lazy_dataclass import dataclass

MOST_EVENTS: Final = 1 << 18
"""That are kept for a picture; what comes later is counted only."""


@dataclass(slots=True)
class Site:
    """One instruction, in all waves. ``lanes``: active ones, over all issues. ``accesses``: memory
    instructions that returned; ``latency``: cycles from issue to then, over all of them. ``hits``
    and ``misses``: of the lines of loads."""

    address: int
    text: str = ""
    line: str = ""
    issues: int = 0
    lanes: int = 0
    stalls: Counter[str] = field(default_factory=Counter)
    accesses: int = 0
    latency: int = 0
    longest: int = 0
    hits: int = 0
    misses: int = 0

    @property
    def stalled(self) -> int:
        """Cycles, for all reasons."""
        return self.stalls.total()

    @property
    def loads(self) -> int:
        """Lines that loads wanted."""
        return self.hits + self.misses

    def add(self, other: Site) -> None:
        """Count another instruction of the same line as well."""
        self.issues += other.issues
        self.lanes += other.lanes
        self.stalls.update(other.stalls)
        self.accesses += other.accesses
        self.latency += other.latency
        self.longest = max(self.longest, other.longest)
        self.hits += other.hits
        self.misses += other.misses


@dataclass(frozen=True, slots=True)
class Interval:
    """What a wave did from one cycle to another. ``track``: compute unit, then one of its waves at
    a time. ``kind``: ``wave``, ``stall`` or ``access``, which may have ``hits`` and ``misses``."""

    kind: str
    track: tuple[int, int]
    start: int
    end: int
    name: str
    line: str = ""
    hits: int = 0
    misses: int = 0


@dataclass(slots=True)
class _Sent:
    """An access that has not returned."""

    tick: int
    decoded: DecodedInstruction
    hits: int = 0
    misses: int = 0


class Profile:
    """The profile of all waves of a device."""

    def __init__(self) -> None:
        self.intervals: list[Interval] = []
        self.dropped = 0
        """Intervals beyond `MOST_EVENTS`."""
        self._sites: dict[int, Site] = {}
        self._last: dict[Wavefront, int] = {}
        self._tracks: dict[Wavefront, tuple[int, int]] = {}
        self._begun: dict[Wavefront, int] = {}
        self._taken: set[tuple[int, int]] = set()
        self._sent: dict[int, _Sent] = {}

    @property
    def sites(self) -> list[Site]:
        """By address."""
        return [self._sites[address] for address in sorted(self._sites)]

    def lines(self) -> Iterator[Site]:
        """Sums by line of the source, in the order of their first instruction."""
        sums: dict[str, Site] = {}
        for site in self.sites:
            line = site.line or "(no line)"
            sums.setdefault(line, Site(site.address, line=line)).add(site)
        yield from sums.values()

    # ------------------------------------------------------------------ reported by a unit

    def entered(self, unit: int, wave: Wavefront, now: int) -> None:
        """A wave becomes resident."""
        place = next(n for n in range(len(self._taken) + 1) if (unit, n) not in self._taken)
        self._taken.add((unit, place))
        self._tracks[wave], self._begun[wave] = (unit, place), now

    def left(self, wave: Wavefront, now: int) -> None:
        """A wave is resident no longer."""
        track = self._tracks.pop(wave, None)
        if track is None:
            return
        self._taken.discard(track)
        self._last.pop(wave, None)
        self._keep(Interval("wave", track, self._begun.pop(wave), now, str(wave)))

    def issued(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """An instruction of a wave has issued."""
        address = decoded.instruction.address
        site = self._site(address)
        if not site.issues:
            site.text, site.line = str(decoded), wave.group.start.line_at(address)
        site.issues += 1
        site.lanes += wave.exec.bit_count()
        self._last[wave] = address

    def stalled(self, wave: Wavefront, reason: str, cycles: int, now: int, behind: bool) -> None:
        """A wave has waited until ``now``. ``behind``: an instruction that has issued."""
        address = self._last.get(wave, wave.pc) if behind else wave.pc
        self._site(address).stalls[reason] += cycles
        if cycles and wave in self._tracks:
            line = wave.group.start.line_at(address)
            self._keep(Interval("stall", self._tracks[wave], now - cycles, now, reason, line))

    def sent(self, access: MemoryAccess, decoded: DecodedInstruction, now: int) -> None:
        """A memory instruction has passed its access on."""
        self._sent[id(access)] = _Sent(now, decoded)

    def answered(self, access: MemoryAccess, hits: int, misses: int) -> None:
        """Memory has loaded a part of an access."""
        sent = self._sent.get(id(access))
        if sent is not None:
            sent.hits += hits
            sent.misses += misses

    def returned(self, wave: Wavefront, access: MemoryAccess, now: int) -> None:
        """An access is complete."""
        sent = self._sent.pop(id(access), None)
        if sent is None:
            return
        site = self._site(sent.decoded.instruction.address)
        site.accesses += 1
        site.latency += now - sent.tick
        site.longest = max(site.longest, now - sent.tick)
        site.hits += sent.hits
        site.misses += sent.misses
        track = self._tracks.get(wave)
        if track is not None:
            name, caches = str(sent.decoded), (sent.hits, sent.misses)
            self._keep(Interval("access", track, sent.tick, now, name, site.line, *caches))

    def _site(self, address: int) -> Site:
        return self._sites.setdefault(address, Site(address))

    def _keep(self, interval: Interval) -> None:
        if len(self.intervals) < MOST_EVENTS:
            self.intervals.append(interval)
        else:
            self.dropped += 1
