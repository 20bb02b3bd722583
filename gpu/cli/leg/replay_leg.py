"""``gcn replay FILE.leg``: a leg of gpu-tester, run by compute units.

Invariant: the system is that of the file, but for what compute units need besides vector caches:
an instruction and a scalar cache for every four of them, and the front end's port.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gpu.cli.leg.comparison import Comparison, compare
from gpu.cli.leg.leg_run import CannotRun, gpu_leg
from gpu.cli.options import ReplayOptions
from gpu.memory.coherent.factory import EngineChoice
from protocols.loader import LoadedProtocol, load_protocol, load_texts
from slicc.text.command.exit_status import FINE, FOUND
from tester.campaign.replay_protocol import carried, fitted, named_protocol, parameters_of
from tester.execution.events import Finding
from tester.program.replay_file import MAGIC, Leg, ReplayError, load_leg

_MOST_NOTES: Final = 10


def is_leg(path: Path) -> bool:
    """Whether a file begins as replay files of gpu-tester do. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def replay_leg(options: ReplayOptions) -> int:
    """Run and print. Returns the exit status: FOUND for a verdict.

    Raises `ReplayError`, and what loading a protocol or opening a memory raises.
    """
    file = options.file
    if options.seed is not None or options.tccs is not None:
        raise ReplayError(file, "a leg has a seed and a system: --seed and --tccs do not apply")
    choice = EngineChoice(options.engine)
    native = choice is not EngineChoice.python
    leg = load_leg(file)
    protocol = load_for(leg, file, options.include, native)
    leg = fitted(leg, protocol, file)
    try:
        part = gpu_leg(leg)
        compared = compare(part, protocol, choice)
    except CannotRun as error:
        raise ReplayError(file, str(error)) from None
    episodes = part.program.episodes
    print(
        f"{file}: leg {leg.number} of seed {leg.seed} of {leg.protocol.name}, {episodes:,} "
        f"episodes of GPU threads as {compared.units.waves:,} waves ({compared.engine})"
    )
    left_out = leg.program.episodes - episodes
    if left_out:
        print(f"{left_out:,} episodes of other agents are left out")
    return _judged(compared)


def _judged(compared: Comparison) -> int:
    units = compared.units
    print(f"{units.episodes:,} episodes complete, {units.ticks:,} cycles")
    _print("compute units", units.finding)
    _print("the tester's agents, on the same episodes", compared.agents)
    if compared.runs > 1:
        print(
            f"compute units made {compared.runs} runs, at other paces; cycles from each memory "
            f"instruction to its requests, in this one: {compared.pace}"
        )
    if not compared.same:
        print("the verdicts differ, because the accesses of units come at other ticks")
    return FINE if units.finding is None and compared.agents is None else FOUND


def _print(who: str, finding: Finding | None) -> None:
    if finding is None:
        print(f"{who}: all values are as expected")
        return
    print(f"{who}: {finding.verdict.value}: {finding.headline}")
    for note in finding.notes[:_MOST_NOTES]:
        print(f"  {note}")


def load_for(leg: Leg, file: Path, include: tuple[Path, ...], native: bool) -> LoadedProtocol:
    """The protocol of the file. Raises ReplayError, ProtocolMissing, ProtocolBroken."""
    texts = carried(leg, include)
    if texts is not None:
        return load_texts(texts, leg.protocol, native, parameters_of(leg))
    name = named_protocol(leg, file, include)
    return load_protocol(name, include, None, native, (), parameters_of(leg))
