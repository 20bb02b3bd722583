"""One text against the default campaign: refused, or how it failed in campaign after campaign.

The campaign goes on behind failures and leaves out what makes them, first everywhere, then in each
failing leg alone, as ``gpu-tester --go-on`` does; or does the same as on another text.

``python -m tests.gem5.history.attack SECONDS DRIVER EPISODES SEED`` prints the answer as JSON.
``SECONDS``: the most processor time. Standard input: nothing, or the rounds of such an answer, to
be run again. A process of its own for each, so that no text can stop the table.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from protocols.loader import ProtocolBroken, ProtocolMissing, load_protocol
from runtime.description import DescriptionError
from tester.campaign.campaign import Campaign, kind_of
from tester.campaign.drawing.options import Options
from tester.campaign.left_out import Apart, LeftOut, Rounds, apart, ending_with_cause
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.errors import ConfigError
from tester.execution.events import VALUE_VERDICTS

LIMIT: Final = 900
"""Seconds of processor time for one text and seed: they do not depend on what else runs here."""
_WRONG_DATA: Final = frozenset(verdict.value for verdict in VALUE_VERDICTS)
_MOST_FAILURES: Final = 40
"""Failing legs of one text and seed; they take longer than those that pass."""


@dataclass(frozen=True, slots=True)
class Round:
    """One campaign. ``left_out``: what it did without; ``failures``: what went wrong and where, and
    the episodes before it was first seen, a hang also with what is stuck, wrong data also if they
    are foreign; ``legs``: that failed.

    ``apart``: not a campaign, but failing legs of the one that leaves nothing out, each without
    things of its own; if there are none yet, they are searched for.
    """

    left_out: tuple[LeftOut, ...] = ()
    failures: dict[str, int] = field(default_factory=dict)
    legs: int = 0
    apart: tuple[Apart, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """``refused``: why the text cannot be tested."""

    refused: str = ""
    rounds: tuple[Round, ...] = ()

    @property
    def failures(self) -> dict[str, int]:
        """Of all campaigns."""
        return {kind: at for each in reversed(self.rounds) for kind, at in each.failures.items()}


def attack(driver: Path, episodes: int, seed: int, wanted: Sequence[Round] | None = None) -> Answer:
    """The default campaign on a text, in this process, and what goes on behind it."""
    try:
        protocol = load_protocol(str(driver), native=True)
        engine = choose(Choice.auto, protocol, lambda text: None)

        def campaign(left_out: Sequence[LeftOut]) -> Campaign:
            options = Options(seed, episodes)
            for each in left_out:
                options = each.of(options)
            return Campaign(protocol, options, engine)

        if wanted is not None:
            return Answer(rounds=(*(_again(campaign(each.left_out), each) for each in wanted),))
        search = Rounds()
        rounds: list[Round] = []
        first: _Failing | None = None
        while True:
            now = campaign(search.left_out)
            failing = _failing(now)
            first = first or failing
            rounds.append(failing.round(search.left_out))
            if not search.next(now, failing.legs):
                break
        if first.legs:
            rounds.append(_apart(campaign(()), first))
    except (ProtocolBroken, ProtocolMissing, DescriptionError, ConfigError) as error:
        return Answer(refused=_first_error(str(error)))
    return Answer(rounds=(*rounds,))


def _again(campaign: Campaign, wanted: Round) -> Round:
    if wanted.apart is None:
        return _failing(campaign).round(wanted.left_out)
    if not wanted.apart:
        return _apart(campaign, _failing(campaign))
    return _steps([each.run(campaign) for each in wanted.apart], {})


@dataclass(frozen=True, slots=True)
class _Failing:
    """``failures``: as in a round; ``legs``: numbers by kind; ``at``: episodes before each."""

    failures: dict[str, int] = field(default_factory=dict)
    legs: dict[str, list[int]] = field(default_factory=dict)
    at: dict[int, int] = field(default_factory=dict)

    def round(self, left_out: tuple[LeftOut, ...]) -> Round:
        return Round(left_out, self.failures, len(self.at))


def _failing(campaign: Campaign) -> _Failing:
    """Run it."""
    found = _Failing()
    number = episodes = 0
    while episodes < campaign.options.episodes and len(found.at) < _MOST_FAILURES:
        leg = campaign.plan(number).leg
        run = campaign.tried(leg)  # natively alone: no report is wanted
        finding = run.outcome.finding
        if finding is not None:
            kind = kind_of(run, finding)
            found.legs.setdefault(kind, []).append(number)
            found.at[number] = episodes
            _note(found.failures, episodes, kind, ending_with_cause(run))
        episodes += leg.program.episodes
        number += 1
    return found


def _apart(campaign: Campaign, failing: _Failing) -> Round:
    return _steps([*apart(campaign, failing.legs)], failing.at)


def _steps(steps: Sequence[Apart], at: Mapping[int, int]) -> Round:
    """``at``: episodes before each leg."""
    failures: dict[str, int] = {}
    last: dict[int, str] = {}
    for each in steps:
        last[each.number] = each.kind
        if each.kind:
            _note(failures, at.get(each.number, 0), each.kind, each.ending)
    return Round((), failures, sum(map(bool, last.values())), (*steps,))


def _note(failures: dict[str, int], episodes: int, *kinds: str) -> None:
    for kind in kinds:
        verdict, _, foreign = kind.partition(" ")
        if verdict in _WRONG_DATA:
            kind = f"wrong data {foreign}".rstrip()
        failures.setdefault(kind, episodes)


def attack_apart(
    driver: Path,
    episodes: int,
    seed: int,
    wanted: Sequence[Round] | None = None,
    limit: int = LIMIT,
) -> Answer:
    """The same in a process of its own, with a limit of its processor time in seconds."""
    command = [sys.executable, "-m", __name__, str(limit), str(driver), str(episodes), str(seed)]
    given = b"" if wanted is None else msgspec.json.encode(wanted)
    done = subprocess.run(command, input=given, capture_output=True, env=_quick())
    if done.returncode == -signal.SIGXCPU:
        return Answer(refused=f"no verdict in {limit} s of processor time")
    if done.returncode:
        why = done.stderr.decode().strip().splitlines() or ["?"]
        return Answer(refused=f"error of ours: {why[-1]}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Answer)


def _quick() -> dict[str, str]:
    """An environment in which objects are compiled once: so few episodes do not pay for more."""
    return {"SLICC_CXXFLAGS": "-O0", **os.environ}


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error")]
    return (lines or text.splitlines() or ["?"])[0]


if __name__ == "__main__":
    seconds, path, episodes_, seed_ = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.RLIM_INFINITY))
    given_ = sys.stdin.buffer.read()
    rounds_ = msgspec.json.decode(given_, type=list[Round]) if given_ else None
    print(msgspec.json.encode(attack(Path(path), int(episodes_), int(seed_), rounds_)).decode())
