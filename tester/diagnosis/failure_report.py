"""The failure report: what went wrong, in which access, and the history of the line, on one screen.

The reader is debugging at two in the morning. Most important first: verdict, the access, which
version was expected and which came, who holds what now, the line's history over all controllers,
the synchronisation that should have prevented it, a likely cause, and the command that runs it
again.

Everything is worked out after the fact, from the leg (a value), from the run that was repeated
with a :class:`tester.diagnosis.events.history.History` attached, and from the stopped system.
Invariant: a report never fails because a system is broken; what cannot be found out is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final

from runtime.errors import ErrorKind
from runtime.requesters.port import AccessKind
from slicc.text.lazy_dataclass import dataclass
from slicc.text.wording import counted
from tester.diagnosis.events.bytes_in_question import BytesInQuestion
from tester.diagnosis.events.history import History
from tester.diagnosis.events.line_events import Transition
from tester.diagnosis.events.message_text import details_of
from tester.diagnosis.events.system_inspection import failed_controller
from tester.diagnosis.likely_causes import elsewhere, likely_causes, went_on
from tester.diagnosis.line_history import line_history
from tester.diagnosis.value_attribution import INITIAL, ByteVerdict, Version, classify, judge_bytes
from tester.diagnosis.wait_for_graph import Holding, line_graph, wait_graph
from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Finding, Request, Role, Verdict
from tester.execution.leg import LegRun
from tester.limits import SHOWN_ROWS
from tester.program.program import Program
from tester.program.replay_file import Leg

_ATOMIC_ROWS: Final = 10
_VALUE_VERDICTS: Final = (Verdict.WRONG_VALUE, Verdict.LOST_WRITE)

Block = tuple[str, list[str]]
"""A title, empty for none, and lines; without lines it is not shown."""


@dataclass(slots=True)
class Failure:
    """A failing leg, run again with its history recorded."""

    leg: Leg
    run: LegRun
    history: History
    finding: Finding
    repeated: bool = True
    """Whether the second run failed in the same way (it must)."""
    reproduce: str = ""
    """The command that reproduces it."""
    easier: Sequence[str] = ()
    """Whether the leg passes in systems that ask less of the protocol."""
    known: Sequence[str] = ()
    """Known defects that it may be."""
    least: Sequence[str] = ()
    """The least that fails in the same way, as `tester.shrink` found it."""
    small: Failure | None = None
    """That least leg, run with its history recorded: the details are its own. None: there is none,
    or it passes where it can be described."""
    suspects: Sequence[str] = ()
    """The transitions to blame, and why; instead of guesses."""


def refine(finding: Finding, program: Program) -> Finding:
    """The finding with the verdict for its kind of wrong value. Others stay as they are."""
    if finding.verdict in _VALUE_VERDICTS and finding.address >= 0:
        finding.verdict = classify(bytes_of(finding, program), _at_end(finding))
    return finding


def bytes_of(finding: Finding, program: Program) -> list[ByteVerdict]:
    """The compared bytes, one by one, without those of atomic words."""
    row = None if _at_end(finding) or finding.request is None else finding.request.row
    return judge_bytes(program, finding.address, finding.size, finding.got, row)


def in_question(finding: Finding, program: Program) -> BytesInQuestion:
    """The bytes that a finding is about, and which of them were wrong."""
    if finding.address < 0:
        return BytesInQuestion()
    verdicts = bytes_of(finding, program) if is_value(finding) else []
    return BytesInQuestion.of(finding, verdicts)


def render(failure: Failure, history_rows: int = SHOWN_ROWS) -> str:
    """The report as text; ``history_rows``: at most so many rows of the line's history."""
    blocks = [("", _verdict(failure)), *_what_fails(failure)]
    finding, run = failure.finding, failure.run
    causes = likely_causes(finding, run.program, run.system) + _around_the_error(failure)
    blocks += _how_it_came(failure.small or failure, history_rows)
    if failure.suspects:
        gone = _last_copy(failure.small or failure)
        suspects = [*gone, *failure.suspects, *_around_the_error(failure.small or failure)]
        blocks.append(("suspect", _wrapped(suspects)))
    else:
        blocks.append(("likely cause", _wrapped(causes)))
    blocks.append(("agents", _agents(blocks, (failure.small or failure).run.program)))
    blocks.append(("known defects", _wrapped(failure.known)))
    blocks.append(("in an easier system", _wrapped(failure.easier)))
    blocks.append(("run it again", [failure.reproduce] if failure.reproduce else []))
    text: list[str] = []
    for title, lines in blocks:
        if not lines:
            continue
        if title:
            text.append(title)
        text += [f"  {line}" for line in lines] if text else lines
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def _agents(blocks: Sequence[Block], program: Program) -> list[str]:
    """What those are called elsewhere, in listings, pages and scenarios, that stand here by their
    numbers."""
    text = "\n".join(line for _, lines in blocks for line in lines)
    numbers = sorted({int(number) for number in re.findall(r"\bagent (\d+)", text)})
    named = [(n, program.agents[n].name) for n in numbers if n < len(program.agents)]
    return _wrapped([", ".join(f"agent {n} is {name}" for n, name in named if name)])


def _what_fails(failure: Failure) -> list[Block]:
    """The access, its versions: those of the least leg, where there is one."""
    least = ("the least that fails in this way", list(failure.least))
    if failure.small is None:
        return [*_details(failure), least]
    finding = failure.small.finding
    headline = f"{finding.verdict.value} at tick {finding.tick:,}: {finding.headline}"
    return [least, ("in this least leg", [headline]), *_details(failure.small)]


def _details(failure: Failure) -> list[Block]:
    finding = failure.finding
    blocks: list[Block] = []
    if finding.request is not None or finding.address >= 0:
        blocks.append(("", _access(failure)))
    if is_value(finding):
        blocks.append(("", _versions(failure)))
    if finding.verdict in ATOMIC_VERDICTS:
        blocks.append(("fetch-adds of this word, in the order of their answers", _atomics(failure)))
    blocks.append(("", finding.notes))
    return blocks


def _how_it_came(failure: Failure, history_rows: int) -> list[Block]:
    """Who holds what, who waits, and what happened before."""
    finding, run = failure.finding, failure.run
    blocks: list[Block] = []
    if finding.address >= 0:
        blocks.append((f"copies of {finding.address:#x} now", _copies(failure)))
    if finding.verdict in (Verdict.HANG, Verdict.RUNAWAY):
        driver = run.read_back or run.driver
        holding = Holding(failure.history.events)
        graph = wait_graph(driver, run.checker, run.system, run.program.line_size, holding)
        blocks.append(("who waits for whom", graph))
    elif run.outcome.error is not None and finding.address >= 0:
        line = finding.address & -run.program.line_size
        who = line_graph(run.checker, run.system, line, run.program.line_size)
        blocks.append(("who has to do with the line", who))
    blocks.append(line_history(run, finding, failure.history, history_rows))
    if is_value(finding):
        blocks.append(("synchronisation", _sync_chain(failure)))
    return blocks


def _last_copy(failure: Failure) -> list[str]:
    """For a wrong value, the transition that left no copy of the expected bytes. A fact, where the
    suspects are what neighbours suggest; what forgot that the bytes matter came before it."""
    events = failure.history.events
    last = next((each for each in reversed(events) if each.last_copy), None)
    if not is_value(failure.finding) or not isinstance(last, Transition):
        return []
    cell = f"{last.who.split()[0]}.{last.state}.{last.event}"
    return [f"no copy of the expected bytes is left after {cell} [{last.where}]"]


def _wrapped(texts: Sequence[str]) -> list[str]:
    return [part for text in texts for part in wrap(text, 96, break_on_hyphens=False)]


# ------------------------------------------------------------------ what and where


def _verdict(failure: Failure) -> list[str]:
    finding, leg = failure.finding, failure.leg
    slug = finding.verdict.value
    error = failure.run.outcome.error
    if error is not None and finding.verdict is Verdict.PROTOCOL_ERROR:
        slug += f" ({error.kind.value})"
    lines = [
        f"BUG: {slug} at tick {finding.tick:,}: {finding.headline}",
        f"  {leg.protocol.name}, seed {leg.seed}, leg {leg.number}"
        + (f" (profile {leg.profile})" if leg.profile else "")
        + f", configuration {leg.digest()}, version {leg.version}",
    ]
    if error is not None:
        where = f"{error.machine} {error.version}" if error.machine is not None else "system"
        if error.state is not None:
            where += f", state {error.state}, event {error.event}"
        if error.action is not None:
            where += f", action {error.action}"
        lines.append(f"  in {where}" + (f"  [{error.location}]" if error.location else ""))
        lines += [f"  on {message}" for message in _messages_of_error(failure)]
    if not failure.repeated:
        lines.append("  !! the second run of this leg did not fail alike: that is a bug of ours")
    return lines


def _messages_of_error(failure: Failure) -> list[str]:
    """What the controller was working on: ``GETX from L1Cache 2 for line 0x40, sent at 1,234``."""
    controller = failed_controller(failure.run.system.controllers, failure.run.outcome.error)
    if controller is None:
        return []
    text = []
    for received in failure.history.failed_on(controller):
        message = received.message
        details = details_of(message)
        text.append(
            f"{received} for line {message.line_address() & -failure.run.program.line_size:#x}, "
            f"sent at {message.created:,}" + (f" ({details})" if details else "")
        )
    return text


def _around_the_error(failure: Failure) -> list[str]:
    """What the in-port had triggered before in vain; for a missing transition, where the machine
    has one on the same event."""
    error = failure.run.outcome.error
    controller = failed_controller(failure.run.system.controllers, error)
    if controller is None or error is None:
        return []
    held = failure.history.held_back_before(controller)
    text = [] if held is None else [went_on(controller, held)]
    if error.kind is ErrorKind.UNDEFINED_TRANSITION:
        text += elsewhere(controller, error)
    return text


def _access(failure: Failure) -> list[str]:
    finding = failure.finding
    request = finding.request
    line_size = failure.run.program.line_size
    text = []
    if request is not None:
        text.append(describe(request, finding.index, failure))
    elif failure.run.read_back is not None:
        text.append("after the last episode, while every byte is loaded once more")
    if finding.address >= 0:
        line = finding.address & -line_size
        size = f"{counted(finding.size, 'byte')} at " if finding.size else ""
        text.append(f"{size}{finding.address:#x}, byte {finding.address - line} of line {line:#x}")
    return text


def describe(request: Request, index: int, failure: Failure) -> str:
    """``load by agent 5 lane 2 (gpu1), episode 211 action 7, issued at 18,190``."""
    what = request.what
    if request.role != Role.ACTION:
        what = Role.NAMES[request.role]
    drivers = [failure.run.driver]
    if failure.run.read_back is not None and request.role == Role.READ_BACK:
        drivers = [failure.run.read_back]
    who = f"agent {request.agent}"
    if 0 <= index < len(request.lanes):
        who += f" lane {request.lanes[index]}"
    if 0 <= request.agent < len(drivers[0].agents):
        who += f" ({drivers[0].agents[request.agent].requester.name})"
    where = "after the last episode"
    if request.episode >= 0 and request.role != Role.READ_BACK:
        where = f"episode {request.episode}"
        if request.row >= 0:
            first = failure.run.program.actions_of(request.episode).start
            where += f" action {request.row - first}"
    return f"{what} by {who}, {where}, issued at {request.issued:,}"


# ------------------------------------------------------------------ versions


def _versions(failure: Failure) -> list[str]:
    finding = failure.finding
    verdicts = bytes_of(finding, failure.run.program)
    if not verdicts:
        return []
    width = 2 + 2 * finding.size
    expected = {(v.expected.number, v.expected.row, v.expected.lane) for v in verdicts}
    found = {
        (v.found.number, v.found.row, v.found.lane) if v.found is not None else None
        for v in verdicts
    }
    if len(expected) == 1 and len(found) == 1:
        return [
            f"expected {finding.expected:#0{width}x}  {_version(verdicts[0].expected, failure)}",
            f"got      {finding.got:#0{width}x}  {_version(verdicts[0].found, failure)}",
        ]
    text = [
        f"expected {finding.expected:#0{width}x}",
        f"got      {finding.got:#0{width}x}, from the lowest address up:",
    ]
    for first, last in _runs(verdicts):
        verdict = verdicts[first]
        place = f"{verdict.address:#x}" + (
            f" to {verdicts[last].address:#x}" if last > first else ""
        )
        mark = "ok" if verdict.right else "!!"
        shown = _hex([v.expected.value for v in verdicts[first : last + 1]])
        text.append(f"{mark} {place}  expected {shown}  {_version(verdict.expected, failure)}")
        if not verdict.right:
            shown = _hex([v.got for v in verdicts[first : last + 1]])
            pad = " " * (len(place) + 5)
            text.append(f"{pad}got      {shown}  {_version(verdict.found, failure)}")
    return text


def _runs(verdicts: list[ByteVerdict]) -> list[tuple[int, int]]:
    """(first, last) index of neighbouring bytes with the same verdict."""

    def key(verdict: ByteVerdict) -> tuple[object, ...]:
        found = verdict.found
        came = None if found is None else (found.number, found.row, found.lane)
        expected = verdict.expected
        return verdict.right, expected.number, expected.row, expected.lane, came

    runs: list[tuple[int, int]] = []
    for index, verdict in enumerate(verdicts):
        if runs and key(verdicts[runs[-1][0]]) == key(verdict):
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def _hex(values: list[int]) -> str:
    """Bytes as they lie in memory."""
    return " ".join(f"{value:02x}" for value in values)


def _version(version: Version | None, failure: Failure) -> str:
    """``version 6, agent 2 lane 0, episode 208 action 3: issued ..., accepted ..., complete``."""
    if version is None:
        return "never written there by anyone"
    if version.row == INITIAL:
        return "version 0, what memory held at first"
    program = failure.run.program
    episode = int(program.action_episode()[version.row])
    agent = int(program.episode_thread[episode])
    action = version.row - program.actions_of(episode).start
    text = (
        f"version {version.number}, agent {agent} lane {version.lane}, "
        f"episode {episode} action {action}"
    )
    record = failure.history.of_action(version.row)
    if record is None:
        return f"{text}: not issued yet"
    index = record.request.lanes.index(version.lane)
    text = f"{text}: issued {record.request.issued:,}"
    answered = _tick(record.answered[index])
    if record.request.kind != AccessKind.STORE:  # an atomic is complete when it is answered
        return f"{text}, answered {answered}"
    return f"{text}, accepted {answered}, complete {_tick(record.completed[index])}"


def _tick(tick: int) -> str:
    return f"{tick:,}" if tick >= 0 else "never"


def _atomics(failure: Failure) -> list[str]:
    """The last fetch-adds of the word, and all that returned the same value."""
    finding, history = failure.finding, failure.history
    rows = []
    for record in history.records.values():
        request = record.request
        if request.kind == AccessKind.ATOMIC and not request.quiet:
            for index, address in enumerate(request.addresses):
                if address == finding.address and record.answered[index] >= 0:
                    rows.append((record.answered[index], record, index))
    rows.sort(key=lambda row: row[0])
    same = {id(r) for r, i in history.returns_of(finding.address, finding.got)}
    shown = [row for row in rows if id(row[1]) in same or row in rows[-_ATOMIC_ROWS:]]
    text = []
    for tick, record, index in shown:
        request = record.request
        value = record.values[index]
        rank = (value - finding.expected) & 0xFFFFFFFF
        sum_ = f"initial + {rank}" if rank < 1 << 24 else "no sum"
        mark = "!!" if value == finding.got else "  "
        text.append(
            f"{mark} {value:#010x} ({sum_})  "
            f"issued {request.issued:,}, returned {tick:,}  agent {request.agent} "
            f"lane {request.lanes[index]}, episode {request.episode}, {Role.NAMES[request.role]}"
        )
    return text


# ------------------------------------------------------------------ the line


def _copies(failure: Failure) -> list[str]:
    """Which controllers hold the bytes now, and which version."""
    finding = failure.finding
    size = finding.size or 4
    text = []
    for copy in copies_of(failure.run.system, finding.address):
        shown = ""
        value = _bytes(copy.data, finding.address & failure.run.program.line_size - 1, size)
        if value is not None:
            shown = f"{value:#0{2 + 2 * size}x}{_mark(failure, value)}"
            if not getattr(copy, "holds", _always)(finding.address):
                shown += "  (not in its byte mask)"
        text.append(f"{copy.where:<28} {copy.state:<10} {shown}".rstrip())
    return text


def _always(address: int) -> bool:
    """For copies that keep no mask."""
    return True


def _bytes(data: int | None, offset: int, size: int) -> int | None:
    return None if data is None else data >> 8 * offset & (1 << 8 * size) - 1


def _mark(failure: Failure, value: int) -> str:
    finding = failure.finding
    if not is_value(failure.finding):
        return ""
    if value == finding.expected:
        return "  as expected"
    return "  the wrong value" if value == finding.got else ""


# ------------------------------------------------------------------ order


def _sync_chain(failure: Failure) -> list[str]:
    """The release and acquire that should have carried the expected bytes to the reader."""
    finding, program, history = failure.finding, failure.run.program, failure.history
    wrong = [v for v in bytes_of(finding, program) if not v.right]
    if not wrong or wrong[0].expected.row == INITIAL or finding.request is None:
        return []
    reader = finding.request
    writer_episode = int(program.action_episode()[wrong[0].expected.row])
    writer_agent = int(program.episode_thread[writer_episode])
    # A read-back counts the episodes of a program of its own.
    if reader.role != Role.READ_BACK and writer_episode == reader.episode:
        return ["writer and reader are the same episode: the wave must see its own store"]
    text = [
        f"writer  agent {writer_agent:<3} episode {writer_episode:<5} "
        + _span(history, writer_episode, Role.RELEASE, "release")
        + _add(history, writer_episode, Role.CLOSE)
    ]
    if reader.role == Role.READ_BACK:
        text.append("reader  after the last episode, behind an acquire of its own")
        return text
    text.append(
        f"reader  agent {reader.agent:<3} episode {reader.episode:<5} "
        + _span(history, reader.episode, Role.ACQUIRE, "acquire")
        + _add(history, reader.episode, Role.OPEN)
    )
    closing = history.of_episode(writer_episode, Role.CLOSE)
    acquire = history.of_episode(reader.episode, Role.ACQUIRE)
    if closing is not None and acquire is not None:
        gap = acquire.request.issued - max(closing.answered, default=closing.request.issued)
        text.append(
            f"the acquire was issued {gap:,} ticks after the writer's closing fetch-adds had "
            "returned: it must see the store"
        )
    return text


def _span(history: History, episode: int, role: int, name: str) -> str:
    record = history.of_episode(episode, role)
    if record is None:
        return f"{name} not issued"
    return f"{name} {record.request.issued:,} to {_tick(record.finished)}"


def _add(history: History, episode: int, role: int) -> str:
    record = history.of_episode(episode, role)
    if record is None or not record.answered:
        return ""
    first, last = min(record.answered), max(record.answered)
    when = f"{_tick(first)}" if first == last else f"{_tick(first)} to {_tick(last)}"
    return f", {Role.NAMES[role]} returned at {when}"


def _at_end(finding: Finding) -> bool:
    return finding.request is None or finding.request.role == Role.READ_BACK


def is_value(finding: Finding) -> bool:
    """Whether a finding is about loaded bytes that were compared one by one."""
    return finding.verdict in VALUE_VERDICTS and finding.address >= 0


def copies_of(system: Any, address: int) -> list[Any]:
    """The system's copies of a byte; none when it does not know them."""
    copies = getattr(system, "copies", None)
    return [] if copies is None else list(copies(address))
