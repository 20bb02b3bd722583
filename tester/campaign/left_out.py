"""What a campaign can leave out to look behind a failure: the least that makes failing legs pass.

A leg is drawn again from its number with one thing less in it: everything else about it stays,
because every draw is made from a fork named after it. Invariant: what the user fixed is not
changed, and what is left out depends on the failing legs alone, not on the order of their runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

from runtime.description import DefectDescription, SystemDescription
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import AnyRun, Campaign, ending_of, kind_of
from tester.campaign.drawing.options import NO_END, Options
from tester.diagnosis.value_attribution import is_foreign
from tester.errors import ConfigError
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Verdict
from tester.profiles.machine_roles import agent_kinds, find_roles
from tester.program.replay_file import Leg

LEGS: Final = 8
"""Failing legs of a kind, at most, that are tried without what is left out."""
FEW: Final = 3
"""Fewer than these do not tell chance from reason."""
_FURTHER: Final = 2
"""So many times the episodes of a campaign, at most, are run to find as many."""
ROUNDS: Final = 4
"""Campaigns that go on behind failures: each leaves out what made the one before fail."""
_TOGETHER: Final = 3
"""Things, at most, that are left out together because none alone is enough."""
_DEEP: Final = 5
"""Things, at most, that a single leg is drawn without."""
_OTHERS: Final = 24
"""Legs that are tried besides: what was changed may have turned the failing ones by chance."""
_WRONG_DATA: Final = frozenset(verdict.value for verdict in (*VALUE_VERDICTS, *ATOMIC_VERDICTS))
_PROGRAMS: Final[Mapping[str, Mapping[str, object]]] = {
    "loads ahead of hand-overs": {"peek_percent": 0},
    "bypassing accesses": {
        "scope_percent": 0,
        "atomic_scope_percent": 0,
        "peek_bypass_percent": 0,
    },
    "atomics without result": {"quiet_percent": 0},
    "instruction fetches by processors": {"instruction_percent": 0},
    "accesses that are not aligned": {"unaligned_percent": 0},
    "hand-overs by completion alone": {"bare_percent": 0, "plain_percent": 0},
    "atomics other than hand-overs": {"atomic_percent": 0},
}
_SYSTEMS: Final[Mapping[str, Mapping[str, object]]] = {
    "limited resources": {
        "entries": 0,
        "directory_entries": 0,
        "dma_entries": 0,
        "busy_cycles": 0,
        "send_slots": 0,
        "transitions": 0,
    },
    "load-linked and far atomics": {"atomics": "line"},
    "more than one engine for DMA": {"dmas": 1},
}
_SMALLER: Final[Mapping[str, Mapping[str, object]]] = {
    "dirty lines in the second level": {"write_back": False},
    "stores that stay in the directories' caches": {"l3_writes": False},
    "more than one directory": {"directories": 1},
    "more than one bank of the second level": {"banks": 1},
    "more than one agent on a port": {"wavefronts": 1, "processor_threads": 1},
    "any number of units but four": {"units": 4},
}
_TIMING: Final[Mapping[str, Mapping[str, object]]] = {
    "random delays of messages": {"delays": "nominal"},
}
_CAN_DO_WITHOUT: Final = (
    ("ahead", ("cpu",), "loads ahead of older ones"),
    ("flush", ("cpu",), "flushes"),
    ("partial", ("dma",), "stores of less than a line"),
    ("loads", ("dma",), "loads"),
    ("stores", ("dma",), "stores"),
)
"""Abilities of agents, whose they are, and what they are called."""
_LARGE: Final = {"sets": 1024, "ways": 8}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``what``: in words. ``fixed``: options of profiles; ``avoid``: fields of the description, as
    a known defect has them; ``variants``: what those that legs draw are called."""

    what: str
    fixed: Mapping[str, object] = field(default_factory=dict)
    avoid: Mapping[str, Any] = field(default_factory=dict)
    variants: frozenset[str] = frozenset()

    def of(self, options: Options) -> Options:
        """The options of a campaign without it."""
        avoid = {p: tuple(v) if isinstance(v, list) else v for p, v in self.avoid.items()}
        there = (DefectDescription(self.what, avoid=avoid),) if avoid else ()
        fixed = {**options.fixed, **self.fixed}
        return replace(
            options,
            fixed=fixed,
            left_out=(*options.left_out, *there),
            without_variants=options.without_variants | self.variants,
        )


NOTHING: Final = LeftOut("nothing")
UNJUDGED: Final = LeftOut("checks of values", avoid={"values": False})
"""Wrong values end a leg before what else is wrong there can show."""


@dataclass(slots=True)
class Rounds:
    """Which campaigns go on behind failures: `ROUNDS` in all; if values were wrong as many again,
    in which they are not checked, so that agents that store wrong bytes stay at work there.

    ``left_out``: what the latest campaign does without.
    """

    left_out: tuple[LeftOut, ...] = ()
    _campaigns: int = 1
    _wrong: bool = False

    def next(
        self,
        campaign: Campaign,
        failures: Mapping[str, Sequence[int]],
        on_progress: Callable[[AnyRun], None] | None = None,
    ) -> list[LeftOut]:
        """What the next campaign leaves out that this one did not; nothing: there is none."""
        self._wrong |= not _WRONG_DATA.isdisjoint(failures)
        found: list[LeftOut] = []
        if self._campaigns < ROUNDS:
            found = behind(campaign, failures, on_progress)
        if found:
            self._campaigns += 1
            self.left_out += (*found,)
        elif self._wrong and UNJUDGED not in self.left_out:
            self._campaigns = 1
            self.left_out = (UNJUDGED,)
            found = [UNJUDGED]
        return found


@dataclass(frozen=True, slots=True)
class Apart:
    """Leg ``number`` drawn without things that it alone does without, the latest last; how it
    fails then (empty: it passes), as `tester.campaign.campaign.kind_of` and `ending_with_cause`
    say."""

    number: int
    left_out: tuple[LeftOut, ...]
    kind: str = ""
    ending: str = ""

    def run(self, campaign: Campaign, on_progress: Callable[[AnyRun], None] | None = None) -> Apart:
        """Run the leg on a campaign's protocol, where it may fail otherwise. Raises ConfigError."""
        run = campaign.tried(self.leg(campaign), on_progress)
        finding = run.outcome.finding
        kind = "" if finding is None else kind_of(run, finding)
        return replace(self, kind=kind, ending=ending_with_cause(run))

    def leg(self, campaign: Campaign) -> Leg:
        """The leg, drawn from a campaign that leaves out none of that."""
        return _without(campaign, self.left_out).plan(self.number).leg


def ending_with_cause(run: AnyRun) -> str:
    """`tester.campaign.campaign.ending_of`; of wrong values also whether they are foreign."""
    finding = run.outcome.finding
    ending = ending_of(run)
    if finding is not None and finding.verdict in VALUE_VERDICTS and finding.address >= 0:
        return f"{ending} foreign" if is_foreign(run.program, finding) else ending
    return ending


def _without(campaign: Campaign, left_out: Iterable[LeftOut]) -> Campaign:
    options = replace(campaign.options, episodes=NO_END)
    for each in left_out:
        options = each.of(options)
    return Campaign(campaign.protocol, options, campaign.engine)


def apart(
    campaign: Campaign,
    failures: Mapping[str, Sequence[int]],
    on_progress: Callable[[AnyRun], None] | None = None,
) -> Iterator[Apart]:
    """Each failing leg again without the first thing that changes how it fails, then without one
    thing more, until it passes or no single thing changes that.

    `behind` leaves a thing out of all legs, and with it each fault that needs this thing and
    something else. Here the other legs keep it. ``failures``: as for `behind`.
    """
    enough: dict[str, list[LeftOut]] = {}
    for number, kind in sorted((each, kind) for kind, legs in failures.items() for each in legs):
        seen = [kind]
        left_out: tuple[LeftOut, ...] = ()
        while seen[-1] and len(left_out) < _DEEP and not _is_runaway(seen[-1]):
            known = enough.setdefault(seen[-1], [])
            step = _changed(campaign, Apart(number, left_out), seen, known, on_progress)
            if step is None:
                break
            yield step
            left_out = step.left_out
            seen.append(step.kind)


def _changed(
    campaign: Campaign,
    before: Apart,
    seen: Sequence[str],
    known: list[LeftOut],
    on_progress: Callable[[AnyRun], None] | None,
) -> Apart | None:
    """The leg without one thing more, so that it fails as it never did. ``known``: what was enough
    for legs that failed alike; it is tried first, and the new one is added."""
    more = [*_candidates(_without(campaign, before.left_out))]
    for each in (
        *(one for one in known if one in more),
        *(one for one in more if one not in known),
    ):
        try:
            now = replace(before, left_out=(*before.left_out, each)).run(campaign, on_progress)
        except ConfigError:  # no agents are left that can hand over
            continue
        if not any(alike(now.kind, kind) for kind in seen):
            if each not in known:
                known.append(each)
            return now
    return None


def behind(
    campaign: Campaign,
    failures: Mapping[str, Sequence[int]],
    on_progress: Callable[[AnyRun], None] | None = None,
) -> list[LeftOut]:
    """What another campaign can do without to look behind failures: for one after the other the
    least, if there is one; for those of few legs, which hide little, if there is none for others.

    ``failures``: numbers of legs by how they failed (`tester.campaign.campaign.kind_of`).
    What ``on_progress`` raises while a leg is tried ends the search.
    """
    found: list[LeftOut] = []
    often = {kind: legs for kind, legs in failures.items() if len(legs) >= FEW}
    rare = {kind: legs for kind, legs in failures.items() if kind not in often}
    for kind, numbers in (*often.items(), *rare.items()):
        if found and kind not in often:
            break
        if found and _failing(campaign, NOTHING, numbers[:LEGS], kind, on_progress) is not None:
            continue
        legs = _enough(campaign, numbers, kind, on_progress)
        for each in least_together(campaign, legs, kind, on_progress):
            found.append(each)
            campaign = Campaign(campaign.protocol, each.of(campaign.options), campaign.engine)
    return found


def _enough(
    campaign: Campaign,
    numbers: Sequence[int],
    kind: str,
    on_progress: Callable[[AnyRun], None] | None,
) -> list[int]:
    """Legs that fail so; if there are few, with those of as many further episodes."""
    legs = [*numbers]
    endless = replace(campaign.options, episodes=NO_END)
    further = Campaign(campaign.protocol, endless, campaign.engine)
    number = legs[-1] + 1
    left = 0 if _is_runaway(kind) else _FURTHER * campaign.options.episodes
    while left > 0 and len(legs) < FEW:
        leg = further.plan(number).leg
        now = further.failure_of(leg, on_progress)
        if _is_runaway(now):
            break
        if alike(now, kind):
            legs.append(number)
        left -= leg.program.episodes
        number += 1
    return legs


def least_together(
    campaign: Campaign,
    numbers: Iterable[int],
    kind: str,
    on_progress: Callable[[AnyRun], None] | None = None,
) -> list[LeftOut]:
    """`least`, or a few things that are enough together: faults that look alike, as wrong bytes do,
    may need one thing each. Each turns at least a third of the legs that failed before it.
    """
    found: list[LeftOut] = []
    legs = [*numbers][:LEGS]
    if len(legs) < FEW or _is_runaway(kind):
        return []
    while True:
        last = least(campaign, legs, kind, on_progress)
        if last is not None:
            return [*found, last]
        if not found:
            legs = _alike(campaign, NOTHING, [*range(_OTHERS)], kind, on_progress) or legs
        rest = legs
        most: LeftOut | None = None
        for each in _candidates(campaign) if len(found) < _TOGETHER - 1 else ():
            still = _alike(campaign, each, legs, kind, on_progress)
            if still is not None and len(still) < len(rest):
                most, rest = each, still
        if most is None or 3 * len(rest) > 2 * len(legs):
            return []
        found.append(most)
        legs = rest
        campaign = Campaign(campaign.protocol, most.of(campaign.options), campaign.engine)


def least(
    campaign: Campaign,
    numbers: Iterable[int],
    kind: str,
    on_progress: Callable[[AnyRun], None] | None = None,
) -> LeftOut | None:
    """What the legs of these numbers need not have to fail otherwise, or to pass: the first thing
    without which none fails as before, else the one without which fewest do.

    None: no single thing, or legs too few to tell chance from reason, or so long that they cannot
    be tried again and again.
    """
    legs = list(numbers)[:LEGS]
    if len(legs) < FEW or _is_runaway(kind):
        return None
    best: LeftOut | None = None
    fewest = len(legs)
    for each in _candidates(campaign):
        failing = _failing(campaign, each, legs, kind, on_progress)
        if failing is not None and failing < fewest:
            best, fewest = each, failing
        if failing == 0:
            break
    return best


def _failing(
    campaign: Campaign,
    left_out: LeftOut,
    legs: Sequence[int],
    kind: str,
    on_progress: Callable[[AnyRun], None] | None,
) -> int | None:
    """How many legs fail as before, of those and of the first of a campaign; None: too many. What
    fails otherwise was behind that failure, or has nothing to do with it.

    A few may: wrong bytes have no place that tells one fault from another.
    """
    options = replace(left_out.of(campaign.options), episodes=NO_END)
    without = Campaign(campaign.protocol, options, campaign.engine)
    found = 0
    for numbers, most in ((legs, len(legs) // 4), (range(_OTHERS), _OTHERS // 8)):
        count = 0
        for number in numbers:
            try:
                now = without.failure_of(without.plan(number).leg, on_progress)
            except ConfigError:  # no agents are left that can hand over
                return None
            count += alike(now, kind)
            if count > most or _is_runaway(now):
                return None
        found += count
    return found


def _alike(
    campaign: Campaign,
    left_out: LeftOut,
    legs: Sequence[int],
    kind: str,
    on_progress: Callable[[AnyRun], None] | None,
) -> list[int] | None:
    """Which of the legs fail as before; None: one is a runaway, or cannot be drawn."""
    options = replace(left_out.of(campaign.options), episodes=NO_END)
    without = Campaign(campaign.protocol, options, campaign.engine)
    found = []
    for number in legs:
        try:
            now = without.failure_of(without.plan(number).leg, on_progress)
        except ConfigError:  # no agents are left that can hand over
            return None
        if _is_runaway(now):
            return None
        if alike(now, kind):
            found.append(number)
    return found


def _is_runaway(kind: str) -> bool:
    """Wherever it is: such legs take seconds."""
    return kind.split(" ")[0] == Verdict.RUNAWAY.value


def alike(one: str, other: str) -> bool:
    """Whether two runs fail in the same way: wrong bytes show in several."""
    return one == other or {one, other} <= _WRONG_DATA


def _candidates(campaign: Campaign) -> Iterator[LeftOut]:
    options, description = campaign.options, campaign.protocol.description
    given = {*options.fixed, *options.assignments}
    for each in (
        *_of(_SYSTEMS),
        *_memory_order(campaign),
        *_variants(campaign),
        *_of(_PROGRAMS),
        *_abilities(description),
        *_agents(campaign),
        *_of(_SMALLER),
        *_replacements(campaign),
        *_of(_TIMING),
    ):
        if not given & {*each.fixed, *each.avoid}:
            yield each


def _of(table: Mapping[str, Mapping[str, object]]) -> Iterator[LeftOut]:
    return (LeftOut(what, fixed) for what, fixed in table.items())


def _memory_order(campaign: Campaign) -> Iterator[LeftOut]:
    """The order of requests to memory, for directories that answer before a write is there."""
    description = campaign.protocol.description
    queues = [
        f"machine.{name}.buffer.{buffer}.ordered"
        for name, machine in description.machines.items()
        for buffer, described in machine.buffers.items()
        if "requestToMemory" in buffer and not described.ordered
    ]
    if queues:
        what = "requests that overtake others on the way to memory"
        yield LeftOut(what, avoid=dict.fromkeys(queues, True))


def _variants(campaign: Campaign) -> Iterator[LeftOut]:
    """Each variant that legs draw, all of a part, all of the system."""
    drawn = campaign.protocol.written.variants
    for variant in drawn:
        yield LeftOut(variant.called, variants=frozenset({variant.called}))
    for part in dict.fromkeys(variant.of for variant in drawn):
        names = (variant.called for variant in drawn if variant.of == part)
        yield LeftOut(f"variants of {part}", variants=frozenset(names))
    if drawn:
        yield LeftOut("variants", variants=frozenset(variant.called for variant in drawn))


def _abilities(description: SystemDescription) -> Iterator[LeftOut]:
    """What some groups of agents can do without: engines and devices their stores, processors to
    keep values of loads that ran ahead."""
    for name, group in description.agents.items():
        for ability, kinds, what in _CAN_DO_WITHOUT:
            if agent_kinds(description)[name] in kinds and ability not in group.without:
                without = [*group.without, ability]  # as a file has it
                yield LeftOut(f"{what} by {name}", avoid={f"agents.{name}.without": without})


def _replacements(campaign: Campaign) -> Iterator[LeftOut]:
    """Caches in which nothing needs to make room."""
    description = campaign.protocol.description
    roles = find_roles(campaign.protocol.info, description)
    levels = {"first": roles.first, "second": roles.second}
    large = {
        level: {
            f"machine.{name}.cache.{cache}.{field}": value
            for name in machines
            for cache in description.machines[name].caches
            for field, value in _LARGE.items()
        }
        for level, machines in levels.items()
    }
    for level, avoid in large.items():
        if avoid:
            yield LeftOut(f"replacements in the {level} level", avoid=avoid)
    if all(large.values()):
        yield LeftOut("replacements", avoid=large["first"] | large["second"])


def _agents(campaign: Campaign) -> Iterator[LeftOut]:
    roles = find_roles(campaign.protocol.info, campaign.protocol.description)
    for machines, count in (
        (roles.scalars, "scalars"),
        (roles.fetchers, "fetchers"),
        (roles.dmas, "dmas"),
        (roles.processors, "cpus"),
    ):
        if machines:
            yield LeftOut(f"agents on {', '.join(machines)}", {count: 0})
