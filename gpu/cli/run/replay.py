"""The command ``gcn replay``: repeats the recorded requests of kernels.

Invariant: without options the system is the recorded one, and every request is made in its tick;
any difference is a finding.
"""

from __future__ import annotations

from pathlib import Path

from gpu.cli.leg.replay_leg import is_leg, replay_leg
from gpu.cli.options import ReplayOptions
from gpu.cli.run.counters import lines_about_caches
from gpu.memory.address_space import Unmapped
from gpu.memory.coherent import recording as requests
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.factory import EngineChoice, choose_engine, load_system
from gpu.memory.coherent.recording import Recording
from gpu.memory.coherent.recording_file import BadRecording, Origin, load
from protocols import shipped
from protocols.loader import reachable
from slicc.text.command.exit_status import FINE, FOUND


def replay(options: ReplayOptions) -> int:
    """Replay and print. Returns the exit status: FOUND if it took another time than it should.

    Raises `BadRecording`, OSError, and what loading a protocol or opening a memory raises.
    """
    if is_leg(options.file):
        return replay_leg(options)
    path, seed, tccs = options.file, options.seed, options.tccs
    recording, origin = load(path)
    for named in (origin.protocol, origin.system):
        if named and named not in shipped() and not reachable(named, options.include):
            raise BadRecording(
                f"{path}: it names {named!r}, which lies neither below the working directory nor "
                f"below a directory of --include: --include {Path(named).parent} allows it"
            )
    memory, words = _opened(path, recording, origin, EngineChoice(options.engine), seed, tccs)
    accesses = len(recording.events) - recording.requests
    print(
        f"{path}: {recording.requests:,} requests and {accesses:,} accesses of the host, "
        f"{origin.cus} compute units on {origin.protocol}"
    )
    try:
        answers, late = requests.replay(recording, memory)
        memory.run(origin.ticks)  # to where the recorded run ended, if nothing is left to do
    except (Unmapped, ValueError) as error:
        raise BadRecording(f"{path}: cannot be replayed: {error}") from None
    print(f"{answers:,} answers, {memory.now:,} cycles; {origin.ticks:,} when recorded ({words})")
    for line in lines_about_caches(memory):
        print(line)
    as_recorded = seed in (None, origin.seed) and tccs in (None, origin.tccs)
    if late:
        print(f"{late:,} of {len(recording.events):,} came later than when recorded")
    if as_recorded and late:
        print("wrong: the system is another one than was recorded")
        return FOUND
    return FINE


def _opened(
    path: Path,
    recording: Recording,
    origin: Origin,
    engine: EngineChoice,
    seed: int | None,
    tccs: int | None,
) -> tuple[CoherentMemory, str]:
    loaded = load_system(
        origin.protocol,
        cus=origin.cus,
        tccs=tccs or origin.tccs or None,
        system=Path(origin.system) if origin.system else None,
        settings=origin.settings,
        native=engine is not EngineChoice.python,
    )
    ports = loaded.kernel.ports()
    here = ports.cus, ports.sqcs, ports.cpus, ports.dmas
    same = here[:2] == origin.counts[:2]
    if not same or ports.cpus < origin.cpus or ports.dmas < origin.dmas:
        raise BadRecording(
            f"{path}: recorded with {Origin.in_words(origin.counts)}; the system has "
            f"{Origin.in_words(here)}"
        )
    chosen = choose_engine(loaded, engine, origin.seed if seed is None else seed, recording.space())
    return chosen.memory, chosen.words
