"""What ``gpu-tester explore`` takes."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument, seconds
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    SYSTEM,
    Format,
    ProtocolOptions,
    number_option,
    output_option,
    run_option,
    system_option,
)
from tester.cli.options.litmus import ModelChoice


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(ProtocolOptions):
    """``gpu-tester explore``."""

    files: tuple[Path, ...] = argument(
        "Racy scenarios whose conditions are decided over all of their runs; without any, agents "
        "do whatever they can.",
        "FILE",
        (),
    )
    model: ModelChoice = run_option(
        ModelChoice.sc, "How scenarios are driven and judged, as by litmus (sc)."
    )
    caches: int | None = number_option(
        SYSTEM, "explored_caches", "First-level caches with a port (as many as give two agents)."
    )
    lines: int = number_option(SYSTEM, "explored_lines", "Lines (1).", default=1)
    locations: int | None = number_option(
        SYSTEM, "explored_locations", "Locations of each line (2; 1 for GPUs)."
    )
    agents: int = number_option(
        SYSTEM, "explored_agents", "Agents on each port (1).", "--agents", default=1
    )
    ops: str | None = system_option(
        None, "What agents do (loads and stores; acquires of GPUs).", metavar="OP,OP,..."
    )
    increments: int = number_option(
        SYSTEM, "increments", "Fetch-adds of an agent to a word (1).", default=1
    )
    engines: bool = system_option(False, "Also let DMA engines load and store.")
    assignments: tuple[str, ...] = system_option(
        (), "Field of the system description.", "--set", metavar="PATH=VALUE"
    )
    invariants: tuple[str, ...] = system_option(
        (),
        "What has to hold of every line, besides what is always judged.",
        "--invariant",
        metavar="EXPR",
    )
    bound: int | None = number_option(
        "What to run", "bound", "Messages under way beyond which nothing is begun (any number)."
    )
    max_states: int = number_option(
        "What to run", "max_states", "States after which to stop (2000000).", default=2_000_000
    )
    max_seconds: float | None = run_option(
        None, "Stop after this time.", metavar="SECONDS", read=seconds
    )
    jobs: int = number_option("What to run", "jobs", "Threads (1).", "--jobs", "-j", default=1)
    wide: bool = run_option(False, "Fingerprints of 128 bits instead of 64.")
    symmetry: bool = run_option(
        True,
        "Whether equal caches and lines are taken for each other.",
        "--symmetry/--no-symmetry",
    )
    local_steps: bool = run_option(
        True,
        "Whether what commutes with every other step happens at once: memory serves a queue that "
        "keeps its order, acknowledgements that change nothing.",
        "--local-steps/--no-local-steps",
    )
    commuting_steps: bool = run_option(
        True,
        "Whether steps that commute with each other are made in one order only.",
        "--commuting-steps/--no-commuting-steps",
    )
    to_rest: bool = run_option(
        False, "Let a controller run until it has nothing left: faster, and less than all orders."
    )
    eager_memory: bool = run_option(
        False, "Let requests reach memory at once: faster, and less than all orders."
    )
    output: Path = output_option(
        Path(),
        "Where the leg of a counterexample and its page go (here).",
        "--output",
        "-o",
        metavar="DIR",
    )
    coverage: Path | None = output_option(
        None, "Write the cells that were reached, each with a shortest way.", metavar="FILE"
    )
    cells: bool = output_option(False, "List the transitions that were not reached.")
    format: Format = output_option(Format.text, "What the result is printed as.")
    no_progress: bool = output_option(False, "No live progress.")
