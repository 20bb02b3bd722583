"""One text against the default campaign: refused, passed, or all the ways in which it failed.

The campaign goes on behind failures and leaves out what makes them, as `gpu-tester --go-on` does.

``python -m tests.gem5.history.attack DRIVER EPISODES SEED`` prints the answer as JSON. A process of
its own for each, so that no text can stop the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from protocols.loader import ProtocolBroken, ProtocolMissing, load_protocol
from runtime.description import DescriptionError
from tester.campaign.campaign import Campaign, Options
from tester.campaign.left_out import ROUNDS, least
from tester.cli.finds import kind_of
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.errors import ConfigError
from tester.execution.events import VALUE_VERDICTS, Verdict

LIMIT: Final = 900
"""Seconds for one text and seed."""
_MOST_FAILURES: Final = 40
"""Failing legs of one text and seed; they take longer than those that pass."""


@dataclass(frozen=True, slots=True)
class Answer:
    """``refused``: why the text cannot be tested. ``failures``: what went wrong and where, and the
    episodes before it was first seen; empty if everything passed. ``left_out``: what later
    campaigns on it did without."""

    refused: str = ""
    failures: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


def attack(driver: Path, episodes: int, seed: int) -> Answer:
    """The default campaign on a text, in this process."""
    try:
        protocol = load_protocol(str(driver), native=True)
        engine = choose(Choice.auto, protocol, lambda text: None)
        options = Options(seed, episodes)
        failures: dict[str, int] = {}
        left_out: list[str] = []
        for _ in range(ROUNDS):
            campaign = Campaign(protocol, options, engine)
            found = _round(campaign, failures)
            without = [least(campaign, *each) for each in found.values()]
            if not any(without):
                break
            for each in filter(None, without):
                options = each.of(options)
                left_out.append(each.what)
    except (ProtocolBroken, ProtocolMissing, DescriptionError, ConfigError) as error:
        return Answer(refused=_first_error(str(error)))
    return Answer(failures=failures, left_out=left_out)


def _round(campaign: Campaign, failures: dict[str, int]) -> dict[str, tuple[list[int], Verdict]]:
    """One campaign. New kinds of failures, with the legs that show them, are added to what is
    known, and returned."""
    found: dict[str, tuple[list[int], Verdict]] = {}
    known = set(failures)
    number = failed = lost = 0
    while campaign.totals.episodes + lost < campaign.options.episodes and failed < _MOST_FAILURES:
        before = campaign.totals.episodes
        leg = campaign.plan(number).leg
        run, finding = campaign.run_leg(leg)
        if finding is not None:
            failed += 1
            lost += leg.program.episodes - run.outcome.episodes
            kind = "wrong data" if finding.verdict in VALUE_VERDICTS else kind_of(run, finding)
            failures.setdefault(kind, before + lost)
            if kind not in known:
                found.setdefault(kind, ([], finding.verdict))[0].append(number)
        number += 1
    return found


def attack_apart(driver: Path, episodes: int, seed: int) -> Answer:
    """The same in a process of its own, with a limit of time."""
    command = [sys.executable, "-m", __name__, str(driver), str(episodes), str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return Answer(refused=f"no verdict in {LIMIT} s")
    if done.returncode:
        return Answer(refused=f"error of ours: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("error")]
    return (lines or text.splitlines() or ["?"])[0]


if __name__ == "__main__":
    path, episodes, seed = sys.argv[1:]
    print(json.dumps(asdict(attack(Path(path), int(episodes), int(seed)))))
