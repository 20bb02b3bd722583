"""A counterexample followed message by message: what each step is about, and what is under way.

An exploration names a message by its place in a list; a script of delays names it by its channel,
its line and its turn. Invariant: messages of a channel are in the order of sending, so that the
n-th of a line there is the n-th in any run that sends the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from protocols.loader import LoadedProtocol
from runtime.native.system import ChoiceKind
from runtime.network.bus import BusPort
from runtime.system.builder import build_completed
from runtime.system.system import System
from slicc.text.lazy_dataclass import dataclass
from tester.exploration.exploration import ErrorTrace, Step
from tester.exploration.native_search import Choice, NativeSearch, Rules, build
from tester.exploration.operations import NAMES, OPERATIONS, Target
from tester.exploration.small_system import FIRST_ADDRESS, LINE_BYTES, SmallSystem

NO_LINE = -1


class Kept(NamedTuple):
    """Messages that a script tells apart by their turn alone. ``line``: its number, or NO_LINE."""

    channel: str
    line: int


@dataclass(frozen=True, slots=True)
class Began:
    """An access of the trace: who began what, where, at which step, and the step after which the
    agent was free again; a number behind all steps: it never was."""

    agent: int
    operation: str
    where: int
    step: int
    ended: int


@dataclass(frozen=True, slots=True)
class Followed:
    """``arrivals``: for messages of each kind, in the order of sending, the step in which each
    arrives; a number behind all steps: in none. ``queues``: by agent, where its requests arrive.
    ``eager``: channels of which messages arrive at once; ``prompt``: those of which messages
    without latency do, whatever is under way."""

    accesses: tuple[Began, ...]
    arrivals: dict[Kept, tuple[int, ...]]
    steps: tuple[Step, ...]
    queues: tuple[str, ...]
    eager: frozenset[str] = frozenset()
    prompt: frozenset[str] = frozenset()

    def continued(self, accesses: Iterable[Began], locations: int) -> Followed:
        """This way with further accesses behind its last step. ``locations``: of a line."""
        arrivals = dict(self.arrivals)
        for each in accesses:
            kept = Kept(self.queues[each.agent], each.where // locations)
            arrivals[kept] = (*arrivals.get(kept, ()), each.step)
        return replace(self, accesses=(*self.accesses, *accesses), arrivals=arrivals)


def channel_of_slots(system: System) -> list[str]:
    """What a script calls the slots of an exploration, in their order: channels, buffers, ports."""
    ports = system.network.ports
    channels = [f"{p.name}->{buffer.name}" for p in ports for _, buffer in p.receivers()]
    on_bus = [f"{p.name}->bus" if isinstance(p, BusPort) else p.name for p in ports]
    return [*channels, *system.buffers, *on_bus]


def follow(
    protocol: LoadedProtocol, system: SmallSystem, rules: Rules, finding: ErrorTrace
) -> Followed:
    """Let the counterexample happen once more, without any bound, and watch what it sends."""
    built = build_completed(protocol.info, system.description, 0)
    queues = [built.requesters[agent.requester].queue.name for agent in system.agents]
    watch = _Watch(channel_of_slots(built), queues, system)
    with NativeSearch(
        build(protocol),
        replace(system, renamings=system.renamings[:1]),
        replace(rules, bound=0),
    ) as s:
        s.restart()
        for number, step in enumerate(finding.trace):
            watch.before(number, s.choices(), step.choice)
            s.apply(step.choice.packed)
            watch.began(number, step)
        watch.before(len(finding.trace), s.choices(), None)
    return Followed(
        tuple(watch.accesses(finding.trace)),
        {kept: tuple(found) for kept, found in watch.arrivals.items()},
        finding.trace,
        tuple(queues),
        frozenset(system.buffers[number] for number in system.to_memory),
        frozenset(system.buffers[number] for number in system.prompt),
    )


class _Watch:
    """``arrivals``: see `Followed`."""

    def __init__(self, channels: list[str], queues: list[str], system: SmallSystem) -> None:
        self.arrivals: dict[Kept, list[int]] = {}
        self._channels = channels
        self._queues = queues
        """By agent: where its requests arrive."""
        self._system = system
        self._waiting: dict[int, list[tuple[Kept, int]]] = {}
        """By slot: the messages there, each by its kind and its turn."""
        self._free: list[frozenset[int]] = []
        """By step: the agents that may begin something."""

    def before(self, step: int, choices: Iterable[Choice], taken: Choice | None) -> None:
        """What can happen before a step, and what does."""
        there: dict[int, list[Choice]] = {}
        free = set()
        for choice in choices:
            if choice.kind is ChoiceKind.DELIVER:
                there.setdefault(choice.what, []).append(choice)
            elif choice.kind is ChoiceKind.ISSUE:
                free.add(choice.what)
        self._free.append(frozenset(free))
        for slot, found in there.items():
            self._note(slot, found)
        if taken is not None and taken.kind is ChoiceKind.DELIVER:
            kept, turn = self._waiting[taken.what].pop(taken.which)
            self.arrivals[kept][turn] = step

    def _note(self, slot: int, found: list[Choice]) -> None:
        """New messages stand behind the known ones; of a slot that keeps its order only the head is
        shown, which is known once it has become the head."""
        known = self._waiting.setdefault(slot, [])
        for choice in found[len(known) :]:
            line = NO_LINE if choice.line is None else _line_number(choice.line)
            kept = Kept(self._channels[slot], line)
            turns = self.arrivals.setdefault(kept, [])
            known.append((kept, len(turns)))
            turns.append(_NEVER)

    def began(self, number: int, step: Step) -> None:
        """A request arrives in the step that begins its access; but not if its requester keeps it
        until an earlier one for the line is answered."""
        choice = step.choice
        if choice.kind is not ChoiceKind.ISSUE:
            return
        target = OPERATIONS[choice.which].target
        kept_back = self._system.agents[choice.what].relaxed and not step.transitions
        if target is not Target.NOTHING and not kept_back:
            per_line = self._system.bounds.locations if target is Target.LOCATION else 1
            kept = Kept(self._queues[choice.what], choice.where // per_line)
            self.arrivals.setdefault(kept, []).append(number)

    def accesses(self, trace: Iterable[Step]) -> Iterable[Began]:
        for step, choice in enumerate(each.choice for each in trace):
            if choice.kind is not ChoiceKind.ISSUE:
                continue
            ends = (n for n in range(step + 1, len(self._free)) if choice.what in self._free[n])
            ended = next(ends, _NEVER)
            yield Began(choice.what, NAMES[choice.which], choice.where, step, ended)


_NEVER = 1 << 30


def is_never(step: int) -> bool:
    """Whether a step is behind the whole trace."""
    return step >= _NEVER


def _line_number(address: int) -> int:
    number = (address - FIRST_ADDRESS) // LINE_BYTES
    return number if number >= 0 else NO_LINE
