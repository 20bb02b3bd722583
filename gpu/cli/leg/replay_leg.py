"""``gcn replay FILE.leg``: a leg of gpu-tester, run by compute units.

Invariant: the system is that of the file, but for what compute units need besides vector caches:
an instruction and a scalar cache for every four of them, and the front end's port.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gpu.cli.leg.leg_run import CannotRun, LegRun, Outcome, gpu_program, unit_of
from gpu.cli.options import ReplayOptions
from gpu.memory.coherent.factory import EngineChoice, LoadedSystem, choose_engine
from gpu.memory.coherent.system_selection import kernel_system
from protocols.loader import LoadedProtocol, load_protocol, load_texts
from runtime.description.inference import COALESCERS
from slicc.text.command.exit_status import FINE, FOUND
from tester.campaign.replay_protocol import carried, fitted, named_protocol, parameters_of
from tester.program.program import Program
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
        program = gpu_program(leg)
        outcome, words = run_leg(leg, program, protocol, choice)
    except CannotRun as error:
        raise ReplayError(file, str(error)) from None
    left_out = leg.program.episodes - program.episodes
    print(
        f"{file}: leg {leg.number} of seed {leg.seed} of {leg.protocol.name}, {program.episodes:,} "
        f"episodes of GPU threads as {outcome.waves:,} waves ({words})"
    )
    if left_out:
        print(f"{left_out:,} episodes of other agents are left out")
    print(f"{outcome.episodes:,} episodes complete, {outcome.ticks:,} cycles")
    return _judged(outcome)


def _judged(outcome: Outcome) -> int:
    finding = outcome.finding
    if finding is None:
        print("all values are as expected")
        return FINE
    print(f"{finding.verdict.value}: {finding.headline}")
    for note in finding.notes[:_MOST_NOTES]:
        print(f"  {note}")
    return FOUND


def load_for(leg: Leg, file: Path, include: tuple[Path, ...], native: bool) -> LoadedProtocol:
    """The protocol of the file. Raises ReplayError, ProtocolMissing, ProtocolBroken."""
    texts = carried(leg, include)
    if texts is not None:
        return load_texts(texts, leg.protocol, native, parameters_of(leg))
    name = named_protocol(leg, file, include)
    return load_protocol(name, include, None, native, (), parameters_of(leg))


def run_leg(
    leg: Leg, program: Program, protocol: LoadedProtocol, choice: EngineChoice
) -> tuple[Outcome, str]:
    """How the program of a leg ends on its system, and what ran the caches, as text. Raises
    CannotRun, DescriptionError, EngineMissing."""
    first, count = vector_ports(leg)
    system = kernel_system(protocol.info, leg.description, cus=count)
    engine = choose_engine(LoadedSystem(protocol, system), choice, leg.run_key)
    units = [unit_of(agent, first, count) for agent in program.agents]
    return LegRun(program, units, engine.memory).run(), engine.words


def vector_ports(leg: Leg) -> tuple[int, int]:
    """The first port that is one of compute units, and how many there are. Raises CannotRun."""
    first = 0
    for group in leg.description.requesters.values():
        count = leg.description.machines[group.machine].count or 0
        if group.class_name in COALESCERS:
            return first, count
        first += count
    raise CannotRun("its system has no port of compute units")
