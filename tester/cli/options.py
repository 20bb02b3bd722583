"""What each verb of ``gpu-tester`` takes; see `slicc.text.command.options`.

Fields of `LegOptions` that fix a value of a leg have its name in `tester.limits` and in the
profiles. A class lists its bases from last to first in the help. Invariant: nothing heavy
is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from slicc.text.command.options import argument, byte_count, integer, option, seconds
from tester.engines.choice import Choice
from tester.limits import CANDIDATES, HISTORY_ROWS, LIMITS, SHOWN_ROWS


class Delay(StrEnum):
    """Policies of random message delays."""

    nominal = "nominal"
    uniform = "uniform"
    heavy_tail = "heavy_tail"
    gem5 = "gem5"
    skewed = "skewed"
    stragglers = "stragglers"


_RUN = "What to run"
_SYSTEM = "System (fixes the value in every leg)"
_PROGRAM = "Programs (fixes the value in every leg)"
_OUTPUT = "Output"

_run = partial(option, section=_RUN)
_system = partial(option, section=_SYSTEM)
_output = partial(option, section=_OUTPUT)


def _number(section: str, limit: str, help: str, *names: str, default: int | None = None) -> Any:
    """An option whose limits are those of that name in `tester.limits`."""
    within = LIMITS[limit]
    metavar = f"{within.low}..{within.high}" if within.high < 10_000 else "N"
    read = integer(within.refusal)
    return option(default, help, *names, section=section, metavar=metavar, read=read)


_system_number = partial(_number, _SYSTEM)
_program_number = partial(_number, _PROGRAM)


def _rows(text: str) -> int:
    """The default comes as the number that it is."""
    if text == "all":
        return HISTORY_ROWS
    if not str(text).isdecimal():
        raise ValueError(f"{text!r} is neither a number of rows nor all")
    return integer(LIMITS["history"].refusal)(text)


def _shipped() -> Iterable[str]:
    from protocols import shipped

    return shipped()


def _profiles() -> Iterable[str]:
    from tester.scenario.profiles import names

    return names()


@dataclass(frozen=True, kw_only=True)
class ProtocolOptions:
    """Which protocol, and what it is made of."""

    protocol: str | None = _run(
        None,
        "Shipped protocol, or path of a .slicc or .sm file (GPU_VIPER).",
        "--protocol",
        "-p",
        metavar="NAME|PATH",
        complete=_shipped,
    )
    include: tuple[Path, ...] = _run(
        (), "Where included files are also looked for.", "--include", "-I", metavar="DIR"
    )
    prelude: tuple[Path, ...] = _run(
        (), "Types and functions that the protocol uses and we lack.", metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class LegOptions:
    """What a leg is drawn from."""

    episodes: int = _number(
        _RUN, "episodes", "Episodes to complete, over all legs (1000).", default=1000
    )
    seed: int | None = _number(_RUN, "seed", "Everything is drawn from it (chosen and printed).")
    profile: str = _run(
        "default",
        "How to attack; default draws another one for every leg.",
        metavar="NAME",
        complete=_profiles,
    )
    system: Path | None = _run(None, "System description to start from.", metavar="TOML")
    leg_episodes: int | None = _number(
        _RUN, "leg_episodes", "Episodes per leg (drawn if not given: 30 to 90, later up to 500)."
    )
    deadlock_limit: int | None = _number(
        _RUN, "deadlock_limit", "Ticks without progress that are a hang (100000)."
    )
    units: int | None = _system_number(
        "units", "Compute units, or processors (first-level caches with a port).", "--cus"
    )
    wavefronts: int | None = _system_number("wavefronts", "Wavefronts per unit.")
    lanes: int | None = _system_number("lanes", "Lanes per wavefront.")
    cpus: int | None = _system_number("cpus", "CPUs beside the GPU.")
    banks: int | None = _system_number("banks", "Banks of the second level.", "--tccs")
    directories: int | None = _system_number("directories", "Directories.", "--dirs")
    l1_size: int | None = _system(
        None, "First-level cache in bytes (256, 16k).", metavar="BYTES", read=byte_count
    )
    l1_sets: int | None = _system_number("l1_sets", "Sets of it.")
    l1_ways: int | None = _system_number("l1_ways", "Ways of it.")
    l2_size: int | None = _system(
        None, "One second-level bank in bytes.", metavar="BYTES", read=byte_count
    )
    l2_sets: int | None = _system_number("l2_sets", "Sets of it.")
    l2_ways: int | None = _system_number("l2_ways", "Ways of it.")
    write_back: bool | None = _system(
        None, "Whether the second level keeps dirty data.", "--write-back/--write-through"
    )
    one_request_per_lane: bool | None = _system(
        None,
        "Whether every lane sends a request of its own.",
        "--one-request-per-lane/--coalesce",
    )
    known_defects: bool = _system(
        False,
        "Also attack known defects, which the description names and avoids.",
        "--known-defects",
    )
    attack: tuple[str, ...] = _system((), "Attack one of them, by its name.", metavar="DEFECT")
    avoid: tuple[str, ...] = _system(
        (), "Keep one out of the way, whatever else is said.", metavar="DEFECT"
    )
    delay: Delay | None = _system(None, "Random message delays.")
    assignments: tuple[str, ...] = _system(
        (), "Field of the system description.", "--set", metavar="PATH=VALUE"
    )
    length: int | None = _program_number(
        "length", "Loads and stores per lane and episode.", "--episode-length"
    )
    locations: int | None = _program_number("locations", "Locations per atomic word.")
    groups: int | None = _program_number("groups", "Atomic words, each with its own locations.")
    lines: int | None = _program_number("lines", "Lines under test.", "--address-range")
    scope_percent: int | None = _program_number(
        "scope_percent", "Percentage of actions that bypass caches.", "--scopes"
    )


@dataclass(frozen=True, kw_only=True)
class SeriesOptions(LegOptions):
    """A series of drawn legs."""

    max_seconds: float | None = _run(
        None, "End after this time, within a leg if need be.", metavar="SECONDS", read=seconds
    )
    output: Path = _output(Path(), "Where replay files of failures go (here).", metavar="DIR")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What is shown and written of the legs that run."""

    coverage: Path | None = _output(None, "Write transition counts as JSON.", metavar="FILE")
    history: int = _output(
        SHOWN_ROWS,
        f"Rows of the line's history that a report shows ({SHOWN_ROWS}).",
        metavar="N|all",
        read=_rows,
    )
    quiet: bool = _output(False, "Print the verdict only.", "--quiet", "-q")
    verbose: bool = _output(False, "Print each leg's system and parameters.", "--verbose", "-v")
    no_progress: bool = _output(False, "No live progress.")


_ENGINE: Any = _run(
    Choice.auto,
    "What runs the legs: controllers compiled to native code, or the Python ones; the "
    "results are the same (auto: native where there is a compiler).",
)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What runs the legs."""

    engine: Choice = _ENGINE
    trace: str | None = _output(
        None, "Print transitions: of every line, or of one.", metavar="all|ADDRESS"
    )


@dataclass(frozen=True, kw_only=True)
class LegsOptions(OutputOptions, ProtocolOptions):
    """What every verb takes that runs legs."""


@dataclass(frozen=True, kw_only=True)
class RunOptions(EngineOptions, LegsOptions, SeriesOptions):
    """``gpu-tester run``."""

    jobs: int = _number(_RUN, "jobs", "Processes to run legs in (1).", "--jobs", "-j", default=1)
    go_on: bool = _run(
        False, "Go on behind failures; report each kind once, and list all at the end."
    )
    no_shrink: bool = _run(False, "Do not look for the least that still fails.")
    shrink_budget: int = _number(
        _RUN,
        "shrink_budget",
        f"Candidates to try, at most, to make a failing leg small ({CANDIDATES:,}).",
        default=CANDIDATES,
    )
    verify: bool = _run(False, "Have each program judged by the slow verifier before it runs.")
    save_program: Path | None = _output(
        None, "Write the first leg as a replay file.", metavar="FILE"
    )


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(EngineOptions, LegsOptions):
    """``gpu-tester replay``."""

    file: Path = argument("Replay file of the leg.", "FILE")


class Format(StrEnum):
    """What results are printed as."""

    text = "text"
    json = "json"


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions(ProtocolOptions):
    """``gpu-tester shrink``."""

    file: Path = argument("Replay file of a failing leg.", "FILE")
    output: Path | None = _output(
        None,
        "Where the small leg is written (FILE with .min.leg).",
        "--output",
        "-o",
        metavar="FILE",
    )
    budget: int = _number(
        _RUN, "shrink_budget", f"Candidates to try, at most ({CANDIDATES:,}).", default=CANDIDATES
    )
    engine: Choice = _ENGINE
    format: Format = _output(Format.text, "What the result is printed as.")


@dataclass(frozen=True, kw_only=True)
class DiffOptions(LegsOptions, SeriesOptions):
    """``gpu-tester diff``."""

    file: Path | None = argument("Replay file; without one, legs are drawn.", "FILE", None)


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(ProtocolOptions, LegOptions):
    """``gpu-tester generate``."""

    file: Path = argument("Where the leg is written.", "FILE")
    quiet: bool = _output(False, "Print nothing.", "--quiet", "-q")


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """``gpu-tester verify``."""

    file: Path = argument("Replay file of the program.", "FILE")
