"""What several verbs of ``gpu-tester`` take; see `slicc.text.command.options`.

Fields of `LegOptions` that fix a value of a leg have its name in `tester.limits` and in the
profiles. A class lists its bases from last to first in the help. Invariant: nothing heavy
is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from slicc.text.command.options import byte_count, integer, option, seconds
from slicc.text.lazy_dataclass import dataclass
from tester.engines.choice import Choice
from tester.limits import HISTORY_ROWS, LIMITS, SHOWN_ROWS


class Delay(StrEnum):
    """Policies of random message delays."""

    nominal = "nominal"
    uniform = "uniform"
    heavy_tail = "heavy_tail"
    gem5 = "gem5"
    skewed = "skewed"
    stragglers = "stragglers"


RUN = "What to run"
SYSTEM = "System (fixes the value in every leg)"
PROGRAM = "Programs (fixes the value in every leg)"
OUTPUT = "Output"

run_option = partial(option, section=RUN)
system_option = partial(option, section=SYSTEM)
output_option = partial(option, section=OUTPUT)


def number_option(
    section: str, limit: str, help: str, *names: str, default: int | None = None
) -> Any:
    """An option whose limits are those of that name in `tester.limits`."""
    within = LIMITS[limit]
    metavar = f"{within.low}..{within.high}" if within.high < 10_000 else "N"
    read = integer(within.refusal)
    return option(default, help, *names, section=section, metavar=metavar, read=read)


_system_number = partial(number_option, SYSTEM)
_program_number = partial(number_option, PROGRAM)


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
    from tester.profiles.profiles import names

    return names()


def _defects() -> Iterable[str]:
    """The known defects of all shipped descriptions: which protocol is meant is not known here."""
    import tomllib

    from protocols import SYSTEMS

    tables = (tomllib.loads(file.read_text(encoding="utf-8")) for file in SYSTEMS.glob("*.toml"))
    return {each["name"] for table in tables for each in table.get("defect", ()) if "name" in each}


@dataclass(frozen=True, kw_only=True)
class ProtocolOptions:
    """Which protocol, and what it is made of."""

    protocol: str | None = run_option(
        None,
        "Shipped protocol, or path of a .slicc or .sm file (GPU_VIPER).",
        "--protocol",
        "-p",
        metavar="NAME|PATH",
        complete=_shipped,
    )
    include: tuple[Path, ...] = run_option(
        (), "Where included files are also looked for.", "--include", "-I", metavar="DIR"
    )
    prelude: tuple[Path, ...] = run_option(
        (), "Types and functions that the protocol uses and the runtime lacks.", metavar="FILE"
    )

    def protocol_words(self) -> list[str]:
        """The options that name the same protocol again."""
        words = [] if self.protocol is None else ["--protocol", self.protocol]
        for directory in self.include:
            words += ["--include", str(directory)]
        for prelude in self.prelude:
            words += ["--prelude", str(prelude)]
        return words


@dataclass(frozen=True, kw_only=True)
class LegOptions:
    """What a leg is drawn from."""

    episodes: int = number_option(
        RUN, "episodes", "Episodes to complete, over all legs (1000).", default=1000
    )
    seed: int | None = number_option(
        RUN, "seed", "Everything is drawn from it (chosen and printed)."
    )
    profile: str = run_option(
        "default",
        "How to attack; default draws another one for every leg.",
        metavar="NAME",
        complete=_profiles,
    )
    system: Path | None = run_option(
        None,
        "System description to start from; legs draw counts and sizes (--set holds one).",
        metavar="TOML",
    )
    leg_episodes: int | None = number_option(
        RUN, "leg_episodes", "Episodes per leg (drawn if not given: 30 to 90, later up to 500)."
    )
    deadlock_limit: int | None = number_option(
        RUN, "deadlock_limit", "Ticks without progress that are a hang (100000)."
    )
    units: int | None = _system_number(
        "units", "Compute units, or processors (first-level caches with a port).", "--cus"
    )
    wavefronts: int | None = _system_number("wavefronts", "Wavefronts per unit.")
    lanes: int | None = _system_number("lanes", "Lanes per wavefront.")
    cpus: int | None = _system_number("cpus", "CPUs beside the GPU.")
    banks: int | None = _system_number("banks", "Banks of the second level.", "--tccs")
    directories: int | None = _system_number("directories", "Directories.", "--dirs")
    l1_size: int | None = system_option(
        None, "First-level cache in bytes (256, 16k).", metavar="BYTES", read=byte_count
    )
    l1_sets: int | None = _system_number("l1_sets", "Sets of a first-level cache.")
    l1_ways: int | None = _system_number("l1_ways", "Ways of a first-level cache.")
    l2_size: int | None = system_option(
        None, "One second-level bank in bytes.", metavar="BYTES", read=byte_count
    )
    l2_sets: int | None = _system_number("l2_sets", "Sets of a second-level bank.")
    l2_ways: int | None = _system_number("l2_ways", "Ways of a second-level bank.")
    write_back: bool | None = system_option(
        None, "Whether the second level keeps dirty data.", "--write-back/--write-through"
    )
    one_request_per_lane: bool | None = system_option(
        None,
        "Whether every lane sends a request of its own.",
        "--one-request-per-lane/--coalesce",
    )
    known_defects: bool = system_option(
        False,
        "Also attack known defects, which the description names and avoids.",
        "--known-defects",
    )
    attack: tuple[str, ...] = system_option(
        (), "Attack a known defect, by its name.", metavar="DEFECT", complete=_defects
    )
    avoid: tuple[str, ...] = system_option(
        (),
        "Keep a known defect out of the way, whatever else is said.",
        metavar="DEFECT",
        complete=_defects,
    )
    delay: Delay | None = system_option(None, "Random message delays.")
    assignments: tuple[str, ...] = system_option(
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

    max_seconds: float | None = run_option(
        None, "End after this time, within a leg if need be.", metavar="SECONDS", read=seconds
    )
    output: Path = output_option(
        Path(), "Where replay files of failures go (here).", "--output", "-o", metavar="DIR"
    )


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """What is shown and written of the legs that run."""

    coverage: Path | None = output_option(None, "Write transition counts as JSON.", metavar="FILE")
    history: int = output_option(
        SHOWN_ROWS,
        f"Rows of the line's history that a report shows ({SHOWN_ROWS}).",
        metavar="N|all",
        read=_rows,
    )
    quiet: bool = output_option(
        False, "Print the verdict and reports of failures only.", "--quiet", "-q"
    )
    verbose: bool = output_option(
        False, "Print each leg's system and parameters.", "--verbose", "-v"
    )
    no_progress: bool = output_option(False, "No live progress.")


ENGINE: Any = run_option(
    Choice.auto,
    "What runs the legs: controllers compiled to native code, or the Python ones; the "
    "results are the same (auto: native where there is a compiler).",
)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What runs the legs."""

    engine: Choice = ENGINE
    trace: str | None = output_option(
        None, "Print transitions: of every line, or of one.", metavar="all|ADDRESS"
    )


@dataclass(frozen=True, kw_only=True)
class LegsOptions(OutputOptions, ProtocolOptions):
    """What every verb takes that runs legs."""


class Format(StrEnum):
    """What results are printed as."""

    text = "text"
    json = "json"
