"""The rows of a scenario as episodes: what an agent does between two points where it may wait.

An operation alone is an episode: of a processor a plain one, of others one with an acquire before
and a release behind it. Rows from `begin` to `end`, from `acquire` to `release`, or from one
fetch-add to the other are one episode. Invariant: episodes stand in the order of their first rows,
those of a thread in the order of its column, and each knows the rows that it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Place
from slicc.scenario_text.errors import ScenarioError
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass
from tester.program.program import (
    BARE,
    FLUSHES,
    GLC,
    PLAIN,
    QUIET,
    RACING_LOAD,
    SLC,
)
from tester.scenario_text.placement import Cast

SCOPES: Final = {"glc": GLC, "slc": SLC}
AnyAccess = syntax.Load | syntax.Store | syntax.Atomic


@dataclass(slots=True)
class Instruction:
    """What an agent issues at once: accesses of one or several lanes."""

    accesses: list[tuple[syntax.Step, AnyAccess]]
    in_order: bool = False
    """A load that overtakes a store, but no load."""


@dataclass(slots=True)
class ScenarioEpisode:
    """``waits``: (column, number of its episodes that must be complete). ``words``: of its
    fetch-adds, by lane. ``span``: of its first row."""

    column: int
    agent: int
    scope: int
    span: Span
    waits: list[tuple[int, int]]
    words: dict[int, Place] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    fenced: bool = False
    """A fence stands behind it."""
    alone: bool = False
    """It is one operation without any word around it."""


def episodes_of(
    scenario: syntax.Scenario, agents: Sequence[int], cast: Cast, *, overlap: bool = False
) -> list[ScenarioEpisode]:
    """All episodes of a scenario, in their total order. Raises ScenarioError.

    ``agents``: of each column. ``overlap``: loads do not wait for the store before them, as with a
    store buffer of one entry.
    """
    found: list[ScenarioEpisode] = []
    threads = [_Thread(number, agent, cast, found, overlap) for number, agent in enumerate(agents)]
    columns = {column.name: threads[number] for number, column in enumerate(scenario.columns)}
    for step in scenario.steps():
        threads[step.column].take(step, columns)
    for thread in threads:
        thread.finish()
    return found


class _Thread:
    """One column, as far as it has been read."""

    def __init__(
        self, column: int, agent: int, cast: Cast, found: list[ScenarioEpisode], overlap: bool
    ) -> None:
        self.column = column
        self.agent = agent
        self.count = 0
        """Episodes so far."""
        self._spec = cast.agents[agent]
        self._able = cast.abilities[agent]
        self._found = found
        self._overlap = overlap
        self._last: ScenarioEpisode | None = None
        self._waits: list[tuple[int, int]] = []
        self._racing = False
        self._dangling: Span | None = None
        """What the next episode must follow."""
        self._open = ""
        """The word that is missing: release, end, or add for the closing fetch-adds."""
        self._opened: syntax.Add | None = None
        self._acquired = True

    def take(self, step: syntax.Step, columns: dict[str, _Thread]) -> None:
        operation = step.operation
        match operation:
            case syntax.Load() | syntax.Store() | syntax.Atomic():
                self._access(step, operation)
            case syntax.Add():
                self._add(operation)
            case syntax.After():
                self._after(operation, columns)
            case syntax.Mark():
                self._mark(operation)

    def finish(self) -> None:
        if self._open:
            assert self._last is not None
            what = f"{self._spec.name} begins what no `{self._open}` ends"
            raise ScenarioError("episode", what, self._last.span)
        if self._dangling is not None:
            what = f"no operation of {self._spec.name} follows"
            raise ScenarioError("episode", what, self._dangling)

    # ------------------------------------------------------------ episodes

    def _begin(self, span: Span, scope: int) -> ScenarioEpisode:
        if self._racing:
            scope |= RACING_LOAD
        episode = ScenarioEpisode(self.column, self.agent, scope, span, self._waits)
        self._waits, self._racing, self._dangling = [], False, None
        self._found.append(episode)
        self._last = episode
        self.count += 1
        return episode

    def _bare(self) -> int:
        return BARE if self._spec.adds else 0

    def _access(self, step: syntax.Step, access: AnyAccess) -> None:
        if access.joins:
            self._join(step, access)
            return
        if self._open == "add" or not self._acquired:
            word = "`add`" if self._open == "add" else "`acquire`"
            raise ScenarioError("episode", f"an access stands where {word} should", step.span)
        instruction = Instruction([(step, access)])
        if self._open:
            assert self._last is not None
            self._last.instructions.append(instruction)
            return
        before = self._last
        if self._overlap and before is not None and self._overlaps(before, access):
            instruction.in_order = True
            before.instructions.append(instruction)
            return
        episode = self._begin(step.span, self._bare() | (PLAIN if self._able.plain else 0))
        episode.instructions.append(instruction)
        episode.alone = True

    def _overlaps(self, before: ScenarioEpisode, access: AnyAccess) -> bool:
        return (
            self._able.plain
            and before.alone
            and not before.fenced
            and not self._waits
            and isinstance(access, syntax.Load)
            and isinstance(before.instructions[0].accesses[0][1], syntax.Store)
        )

    def _join(self, step: syntax.Step, access: AnyAccess) -> None:
        last = self._last
        if last is None or not last.instructions or self._waits or self._open == "add":
            raise ScenarioError("lane", "there is no instruction above to join", step.span)
        instruction = last.instructions[-1]
        first = instruction.accesses[0][1]
        if not _alike(first, access):
            raise ScenarioError(
                "lane",
                "lanes of one instruction differ in place and value only",
                access.span,
                secondary=[(first.span, "the instruction")],
            )
        for other_step, other in instruction.accesses:
            if other.lane == access.lane:
                what = f"lane {access.lane} is in the instruction twice"
                raise ScenarioError("lane", what, step.span, secondary=[(other_step.span, "")])
        instruction.accesses.append((step, access))

    def _add(self, add: syntax.Add) -> None:
        words = dict(add.words)
        if len(words) < len(add.words):
            raise ScenarioError("lane", "a lane is there twice", add.span)
        if self._open == "add":
            self._close(add, words)
            return
        if self._open:
            raise ScenarioError("episode", f"`add` stands where `{self._open}` should", add.span)
        if not self._spec.adds:
            what = f"{self._spec.name} makes no atomic operations"
            raise ScenarioError("agent", what, add.span)
        if "quiet" in add.scopes:
            raise ScenarioError("episode", "only closing fetch-adds are quiet", add.span)
        scope = sum(SCOPES.get(name, 0) for name in add.scopes)
        self._begin(add.span, scope).words = words
        self._opened = add
        self._open, self._acquired = "release", False

    def _close(self, add: syntax.Add, words: dict[int, Place]) -> None:
        assert self._last is not None and self._opened is not None
        if words != self._last.words or add.scopes - {"quiet"} != self._opened.scopes:
            raise ScenarioError(
                "episode",
                "an episode ends with the fetch-adds that it began with",
                add.span,
                secondary=[(self._opened.span, "it began with these")],
            )
        if "quiet" in add.scopes:
            self._last.scope |= QUIET
        self._open, self._opened = "", None

    def _after(self, after: syntax.After, columns: dict[str, _Thread]) -> None:
        other = columns[after.thread]
        if self._open:
            what = f"`after` stands where `{self._open}` should"
            raise ScenarioError("episode", what, after.span)
        if other is self:
            raise ScenarioError("episode", "a thread waits for itself", after.span)
        count = other.count if after.count is None else after.count
        if count == 0:
            what = f"nothing of {after.thread} stands above"
            raise ScenarioError("episode", what, after.span)
        if count > other.count:
            what = f"{other.count} episodes of {after.thread} stand above, not {count}"
            raise ScenarioError("episode", what, after.span)
        if other._open and count == other.count:
            what = f"an episode of {after.thread} is not yet ended here"
            raise ScenarioError("episode", what, after.span)
        self._waits.append((other.column, count))
        self._dangling = after.span

    def _mark(self, mark: syntax.Mark) -> None:
        word = mark.word
        if word == "flush":
            self._flush(mark)
        elif word == "fence":
            if not self._able.plain or self._open:
                raise ScenarioError(
                    "episode", "a fence stands between accesses of a processor", mark.span
                )
            if self._last is not None:
                self._last.fenced = True
        elif word == "acquire" and self._open == "release" and not self._acquired:
            self._acquired = True
        elif word in ("release", "end") and self._open == word and self._acquired:
            self._open = "add" if self._opened is not None else ""
        elif self._open or word in ("release", "end"):
            wanted = f"`{self._open}`" if self._acquired else "`acquire`"
            what = f"`{word}` stands where {wanted if self._open else 'an access'} should"
            raise ScenarioError("episode", what, mark.span)
        elif word == "acquire":
            self._begin(mark.span, self._bare())
            self._open = "release"
        elif word == "begin":
            if not self._able.plain:
                what = f"{self._spec.name} needs acquire and release"
                raise ScenarioError("agent", what, mark.span)
            self._begin(mark.span, BARE | PLAIN)
            self._open = "end"
        else:
            self._racing = True
            self._dangling = mark.span

    def _flush(self, mark: syntax.Mark) -> None:
        if self._last is None or self._open not in ("", "add") or self._last.scope & PLAIN:
            raise ScenarioError("episode", "a flush stands behind a release", mark.span)
        if not self._able.flush:
            raise ScenarioError("agent", f"{self._spec.name} cannot flush", mark.span)
        self._last.scope |= FLUSHES


def _alike(one: AnyAccess, other: AnyAccess) -> bool:
    """Whether two accesses can be lanes of one instruction."""
    operations = [each.operation for each in (one, other) if isinstance(each, syntax.Atomic)]
    return (
        type(one) is type(other)
        and one.bytes == other.bytes
        and one.scopes == other.scopes
        and len(set(operations)) <= 1
    )
