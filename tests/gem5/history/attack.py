"""One text against the default campaign: refused, or how it failed in campaign after campaign.

The campaign goes on behind failures and leaves out what makes them, as ``gpu-tester --go-on`` does;
or leaves out, in one campaign after the other, what is given.

``python -m tests.gem5.history.attack SECONDS DRIVER EPISODES SEED [ROUNDS]`` prints the answer as
JSON. ``SECONDS``: the most processor time; ``ROUNDS``: what each campaign leaves out, as such an
answer has it. A process of its own for each, so that no text can stop the table.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from protocols.loader import ProtocolBroken, ProtocolMissing, load_protocol
from runtime.description import DescriptionError
from tester.campaign.campaign import Campaign, Options, ending_of, kind_of
from tester.campaign.left_out import LeftOut, Rounds
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
    the episodes before it was first seen, a hang also with what is stuck; ``legs``: that failed."""

    left_out: tuple[LeftOut, ...] = ()
    failures: dict[str, int] = field(default_factory=dict)
    legs: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """``refused``: why the text cannot be tested."""

    refused: str = ""
    rounds: tuple[Round, ...] = ()

    @property
    def failures(self) -> dict[str, int]:
        """Of all campaigns."""
        return {kind: at for each in reversed(self.rounds) for kind, at in each.failures.items()}


Wanted = Sequence[Sequence[LeftOut]]
"""What each campaign leaves out."""


def attack(driver: Path, episodes: int, seed: int, wanted: Wanted | None = None) -> Answer:
    """The default campaign on a text, in this process, and what goes on behind it."""
    try:
        protocol = load_protocol(str(driver), native=True)
        engine = choose(Choice.auto, protocol, lambda text: None)
        search = Rounds()
        rounds: list[Round] = []
        while wanted is None or len(rounds) < len(wanted):
            left_out = search.left_out if wanted is None else (*wanted[len(rounds)],)
            options = Options(seed, episodes)
            for each in left_out:
                options = each.of(options)
            campaign = Campaign(protocol, options, engine)
            failures, legs = _failures(campaign)
            rounds.append(Round(left_out, failures, sum(map(len, legs.values()))))
            if wanted is None and not search.next(campaign, legs):
                break
    except (ProtocolBroken, ProtocolMissing, DescriptionError, ConfigError) as error:
        return Answer(refused=_first_error(str(error)))
    return Answer(rounds=(*rounds,))


def _failures(campaign: Campaign) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Run it: the episodes before each kind of failure, and the failing legs by exact kind."""
    failures: dict[str, int] = {}
    legs: dict[str, list[int]] = {}
    number = episodes = failed = 0
    while episodes < campaign.options.episodes and failed < _MOST_FAILURES:
        leg = campaign.plan(number).leg
        run = campaign.tried(leg)  # natively alone: no report is wanted
        finding = run.outcome.finding
        if finding is not None:
            failed += 1
            kind = kind_of(run, finding)
            legs.setdefault(kind, []).append(number)
            for each in (kind, ending_of(run)):
                failures.setdefault("wrong data" if each in _WRONG_DATA else each, episodes)
        episodes += leg.program.episodes
        number += 1
    return failures, legs


def attack_apart(
    driver: Path, episodes: int, seed: int, wanted: Wanted | None = None, limit: int = LIMIT
) -> Answer:
    """The same in a process of its own, with a limit of its processor time in seconds."""
    command = [sys.executable, "-m", __name__, str(limit), str(driver), str(episodes), str(seed)]
    if wanted is not None:
        command.append(msgspec.json.encode(wanted).decode())
    done = subprocess.run(command, capture_output=True, text=True, env=_quick())
    if done.returncode == -signal.SIGXCPU:
        return Answer(refused=f"no verdict in {limit} s of processor time")
    if done.returncode:
        return Answer(refused=f"error of ours: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Answer)


def _quick() -> dict[str, str]:
    """An environment in which objects are compiled once: so few episodes do not pay for more."""
    return {"SLICC_CXXFLAGS": "-O0", **os.environ}


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error")]
    return (lines or text.splitlines() or ["?"])[0]


if __name__ == "__main__":
    seconds, path, episodes_, seed_, *given = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.RLIM_INFINITY))
    rounds_ = msgspec.json.decode(given[0], type=list[list[LeftOut]]) if given else None
    print(msgspec.json.encode(attack(Path(path), int(episodes_), int(seed_), rounds_)).decode())
