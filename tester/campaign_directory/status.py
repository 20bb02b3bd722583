"""What a campaign has done so far, read from its directory while it runs or afterwards.

Invariant: reading changes nothing there, and takes little time however long the campaign is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from slicc.text.lazy_dataclass import dataclass
from slicc.text.wording import counted, duration, listed
from tester.campaign_directory.directory import CampaignDirectory
from tester.campaign_directory.store import FailureRow, Store

_POINTS: Final = 400
"""Of a curve."""
_MISSED: Final = 8
"""Cells of a machine that are listed in a terminal."""


@dataclass(frozen=True, slots=True)
class Point:
    """Sums over the legs up to one of them."""

    legs: int
    episodes: int
    elapsed: float
    cells: int
    own: int
    line: int


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """``missed``: (state, event) of the cells that were never executed."""

    name: str
    defined: int
    executions: int
    missed: tuple[tuple[str, str], ...]

    @property
    def hit(self) -> int:
        return self.defined - len(self.missed)


@dataclass(frozen=True, slots=True)
class ProfileStatus:
    """``new``: pairs of transitions that its legs were the first to have."""

    name: str
    legs: int
    transitions: int
    new: int
    failing: int


@dataclass(frozen=True, slots=True)
class Status:
    """``facts``: what the campaign is of. ``process``: that is at work there; 0: none.

    ``failures``: each cause with the number of its legs. ``seconds``: of processor time.
    """

    directory: str
    facts: dict[str, Any]
    process: int
    legs: int
    episodes: int
    lane_accesses: int
    transitions: int
    seconds: float
    elapsed: float
    machines: tuple[MachineStatus, ...]
    profiles: tuple[ProfileStatus, ...]
    failures: tuple[tuple[FailureRow, int], ...]
    curve: tuple[Point, ...]

    @property
    def own(self) -> int:
        return self.curve[-1].own if self.curve else 0

    @property
    def line(self) -> int:
        return self.curve[-1].line if self.curve else 0


def read_status(directory: CampaignDirectory, store: Store, process: int = 0) -> Status:
    """``process``: that is at work there. Raises StoreError."""
    sums = store.rows(
        "SELECT count(*), sum(episodes), sum(lane_accesses), sum(transitions) FROM legs"
    )[0]
    legs, episodes, accesses, transitions = (int(each or 0) for each in sums)
    seconds = store.rows("SELECT sum(seconds) FROM times")[0][0] or 0.0
    counts = store.legs_of_failures()
    return Status(
        str(directory.root),
        store.facts(),
        process,
        legs,
        episodes,
        accesses,
        transitions,
        seconds,
        store.elapsed(),
        tuple(_machines(store)),
        tuple(
            ProfileStatus(*row)
            for row in store.rows(
                "SELECT profile, count(*), sum(transitions), sum(new_own + new_line), "
                "count(failure) FROM legs GROUP BY profile ORDER BY profile"
            )
        ),
        tuple((row, counts.get(row.id, 0)) for row in store.failures()),
        tuple(_curve(store, legs)),
    )


def _machines(store: Store) -> Iterator[MachineStatus]:
    for name, defined, executions in store.rows(
        "SELECT machine, count(*), sum(count) FROM cells GROUP BY machine ORDER BY machine"
    ):
        missed = store.rows(
            "SELECT state, event FROM cells WHERE machine = ? AND count = 0 ORDER BY state, event",
            name,
        )
        yield MachineStatus(name, defined, executions, tuple(missed))


def _curve(store: Store, legs: int) -> Iterator[Point]:
    step = max(1, -(-legs // _POINTS))
    sums = [0, 0, 0, 0, 0]
    for *parts, elapsed in store.rows(
        "SELECT count(*), sum(episodes), sum(new_cells), sum(new_own), sum(new_line), "
        "max(elapsed) FROM legs LEFT JOIN times USING (number) "
        "GROUP BY number / ? ORDER BY number / ?",
        step,
        step,
    ):
        sums = [total + part for total, part in zip(sums, parts)]
        yield Point(sums[0], sums[1], elapsed or 0.0, *sums[2:])


# ---------------------------------------------------------------------- text


def title(status: Status) -> str:
    """``GPU_VIPER, seed 4, version 0.1.0``."""
    facts = status.facts
    guided = ", guided" if facts.get("guided") else ""
    named = (f"{facts.get('protocol')}", f"seed {facts.get('seed')}")
    return f"{', '.join(named)}, version {facts.get('version')}{guided}"


def text_lines(status: Status) -> Iterator[str]:
    """For a terminal."""
    at_work = f", at work in process {status.process}" if status.process else ""
    yield f"{status.directory}: {title(status)}{at_work}"
    yield f"  {work(status)}"
    yield f"  {rates(status)}"
    yield f"  pairs of transitions: {status.own:,} own, {status.line:,} on a line{_lately(status)}"
    if status.machines:
        yield "coverage (executed / defined transitions)"
        yield from (f"  {line}" for line in _coverage(status))
    yield from _profiles(status)
    yield from _failures(status)


def work(status: Status) -> str:
    """How much was run."""
    return (
        f"{counted(status.legs, 'leg')}, {counted(status.episodes, 'episode')}, "
        f"{status.lane_accesses:,} lane accesses, {status.transitions:,} transitions"
    )


def rates(status: Status) -> str:
    """By the clock and by processor time."""
    clock, seconds = max(status.elapsed, 1e-9), max(status.seconds, 1e-9)
    return (
        f"{duration(status.elapsed)} by the clock, {duration(status.seconds)} of processor time in "
        f"legs: {status.episodes / clock:,.0f} episodes/s, "
        f"{status.transitions / seconds:,.0f} transitions a second of processor time"
    )


def _lately(status: Status) -> str:
    """What the last quarter of the legs brought."""
    if len(status.curve) < 4:
        return ""
    before, last = status.curve[-1 - len(status.curve) // 4], status.curve[-1]
    new = last.own + last.line - before.own - before.line
    cells = last.cells - before.cells
    return (
        f"; {new:,} of them, and {counted(cells, 'cell')}, new in the last "
        f"{counted(last.legs - before.legs, 'leg')}"
    )


def _coverage(status: Status) -> Iterator[str]:
    width = max(len(machine.name) for machine in status.machines)
    for machine in status.machines:
        share = 100 * machine.hit / machine.defined if machine.defined else 100.0
        yield (
            f"{machine.name:<{width}}  {machine.hit:>4} / {machine.defined:<4} {share:5.1f} %  "
            f"{machine.executions:>12,} executions"
        )
        if machine.missed:
            shown = [".".join(cell) for cell in machine.missed[:_MISSED]]
            more = len(machine.missed) - len(shown)
            rest = [f"{more} more"] if more else []
            yield f"{'':<{width}}  never: {listed([*shown, *rest])}"


def _profiles(status: Status) -> Iterator[str]:
    if not status.profiles:
        return
    yield "profiles"
    width = max(len(profile.name) for profile in status.profiles)
    for each in status.profiles:
        failing = f"  {each.failing:,} failed" if each.failing else ""
        yield (
            f"  {each.name:<{width}}  {each.legs:>8,} legs  {each.new:>8,} new pairs  "
            f"{1e6 * each.new / max(1, each.transitions):>8,.0f} a million transitions{failing}"
        )


def _failures(status: Status) -> Iterator[str]:
    if not status.failures:
        return
    yield "failures"
    for failure, legs in status.failures:
        first = f"leg {failure.leg} ({failure.profile})"
        least = f"; shrunk: {failure.least}" if failure.least else ""
        yield f"  {legs:>6,} x {failure.cause}, first in {first}{least}"
        yield f"           {failure.headline}"
        yield from (
            f"           {what}: {status.directory}/{name}"
            for what, name in failure.files.items()
            if what in ("report", "page")
        )


def as_table(status: Status) -> dict[str, object]:
    """A status for JSON."""
    return {
        "schema": "gpu-tester.campaign/1",
        "directory": status.directory,
        "protocol": status.facts.get("protocol"),
        "seed": status.facts.get("seed"),
        "version": status.facts.get("version"),
        "guided": bool(status.facts.get("guided")),
        "process": status.process or None,
        "legs": status.legs,
        "episodes": status.episodes,
        "lane_accesses": status.lane_accesses,
        "transitions": status.transitions,
        "processor_seconds": round(status.seconds, 3),
        "elapsed_seconds": round(status.elapsed, 3),
        "pairs": {"own": status.own, "line": status.line},
        "machines": {
            machine.name: {
                "defined": machine.defined,
                "hit": machine.hit,
                "missed": [".".join(cell) for cell in machine.missed],
            }
            for machine in status.machines
        },
        "profiles": {
            each.name: {
                "legs": each.legs,
                "transitions": each.transitions,
                "new_pairs": each.new,
                "failing": each.failing,
            }
            for each in status.profiles
        },
        "failures": [
            {
                "verdict": row.kind,
                "blamed": row.blamed,
                "headline": row.headline,
                "legs": legs,
                "first_leg": row.leg,
                "profile": row.profile,
                "files": dict(row.files),
            }
            for row, legs in status.failures
        ],
    }
