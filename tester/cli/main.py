"""``gpu-tester``: parses, calls one function, and turns its result into an exit status.

0: every episode passed. 1: a bug was found. 2: misuse or bad input, said in one message without
a traceback. 130: interrupted (143: by SIGTERM), with what had been done until then. 70: a bug of
ours, with its traceback; never mistaken for a bug of the protocol.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from slicc.cli.exit_status import Stop, heed_endings, run_command
from slicc.cli.version import version_option
from tester.campaign.engine_choice import Choice
from tester.limits import LIMITS, Limit

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class Delay(StrEnum):
    """Policies of random message delays."""

    nominal = "nominal"
    uniform = "uniform"
    heavy_tail = "heavy_tail"
    gem5 = "gem5"
    skewed = "skewed"
    stragglers = "stragglers"


def _bytes(text: str) -> int:
    """``16384``, ``16k``, ``1M``: a size in bytes."""
    units = {"k": 1 << 10, "m": 1 << 20}
    digits, unit = (text[:-1], text[-1].lower()) if text[-1:].lower() in units else (text, "")
    try:
        size = int(digits, 0) * units.get(unit, 1)
    except ValueError:
        size = 0
    if size <= 0:
        raise typer.BadParameter(f"{text!r} is not a size in bytes (4096, 16k, 1M)")
    return size


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < math.inf:
        raise typer.BadParameter(f"{text!r} is not a number of seconds")
    return seconds


def _within(limit: Limit) -> Callable[[str], int]:
    """A reader of integers that says which value it refuses and what it would take."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not an integer") from None
        refusal = limit.refusal(value)
        if refusal is not None:
            raise typer.BadParameter(f"{value}: {refusal}")
        return value

    return read


_RUN = "What to run"
_SYSTEM = "System (fixes the value in every leg)"
_PROGRAM = "Programs (fixes the value in every leg)"
_OUTPUT = "Output"


def _option(panel: str, help_: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=panel, show_default=False, **more)


def _number(panel: str, help_: str, limit: str, *names: str) -> Any:
    """An option whose limits are those of that name in `tester.limits`."""
    within = LIMITS[limit]
    metavar = f"{within.low}..{within.high}" if within.high < 10_000 else "N"
    return _option(panel, help_, *names, metavar=metavar, parser=_within(within))


@app.command(context_settings={"help_option_names": ["-h", "--help"]})
def main_command(
    episodes: Annotated[
        int, _number(_RUN, "Episodes to complete, over all legs (1000).", "episodes")
    ] = 1000,
    seed: Annotated[
        int | None, _number(_RUN, "Everything is drawn from it (chosen and printed).", "seed")
    ] = None,
    protocol: Annotated[
        str | None,
        _option(
            _RUN,
            "Shipped protocol, or path of a .slicc or .sm file (GPU_VIPER).",
            "--protocol",
            "-p",
        ),
    ] = None,
    profile: Annotated[
        str, _option(_RUN, "How to attack; default draws another one for every leg.")
    ] = "default",
    replay: Annotated[
        Path | None, _option(_RUN, "Run the one leg in this file again.", metavar="FILE")
    ] = None,
    include: Annotated[
        list[Path] | None,
        _option(
            _RUN, "Where included files are also looked for.", "--include", "-I", metavar="DIR"
        ),
    ] = None,
    prelude: Annotated[
        list[Path] | None,
        _option(_RUN, "Types and functions that the protocol uses and we lack.", metavar="FILE"),
    ] = None,
    system: Annotated[
        Path | None, _option(_RUN, "System description to start from.", metavar="TOML")
    ] = None,
    leg_episodes: Annotated[
        int | None,
        _number(
            _RUN,
            "Episodes per leg (drawn if not given: 30 to 90, later up to 500).",
            "leg_episodes",
        ),
    ] = None,
    cus: Annotated[
        int | None,
        _number(
            _SYSTEM,
            "Compute units, or processors (first-level caches with a port).",
            "units",
        ),
    ] = None,
    wavefronts: Annotated[
        int | None, _number(_SYSTEM, "Wavefronts per unit.", "wavefronts")
    ] = None,
    lanes: Annotated[int | None, _number(_SYSTEM, "Lanes per wavefront.", "lanes")] = None,
    cpus: Annotated[int | None, _number(_SYSTEM, "CPUs beside the GPU.", "cpus")] = None,
    tccs: Annotated[int | None, _number(_SYSTEM, "Banks of the second level.", "banks")] = None,
    dirs: Annotated[int | None, _number(_SYSTEM, "Directories.", "directories")] = None,
    l1_size: Annotated[
        int | None,
        _option(_SYSTEM, "First-level cache in bytes (256, 16k).", metavar="BYTES", parser=_bytes),
    ] = None,
    l1_sets: Annotated[int | None, _number(_SYSTEM, "Sets of it.", "l1_sets")] = None,
    l1_ways: Annotated[int | None, _number(_SYSTEM, "Ways of it.", "l1_ways")] = None,
    l2_size: Annotated[
        int | None,
        _option(_SYSTEM, "One second-level bank in bytes.", metavar="BYTES", parser=_bytes),
    ] = None,
    l2_sets: Annotated[int | None, _number(_SYSTEM, "Sets of it.", "l2_sets")] = None,
    l2_ways: Annotated[int | None, _number(_SYSTEM, "Ways of it.", "l2_ways")] = None,
    write_back: Annotated[
        bool | None,
        _option(
            _SYSTEM, "Whether the second level keeps dirty data.", "--write-back/--write-through"
        ),
    ] = None,
    one_request_per_lane: Annotated[
        bool | None,
        _option(
            _SYSTEM,
            "Whether every lane sends a request of its own.",
            "--one-request-per-lane/--coalesce",
        ),
    ] = None,
    known_defects: Annotated[
        bool,
        _option(
            _SYSTEM,
            "Also attack what the description says is broken and keeps out of the way.",
            "--known-defects",
        ),
    ] = False,
    delay: Annotated[Delay | None, _option(_SYSTEM, "Random message delays.")] = None,
    set_: Annotated[
        list[str] | None,
        _option(_SYSTEM, "Field of the system description.", "--set", metavar="PATH=VALUE"),
    ] = None,
    episode_length: Annotated[
        int | None, _number(_PROGRAM, "Loads and stores per lane and episode.", "length")
    ] = None,
    locations: Annotated[
        int | None, _number(_PROGRAM, "Locations per atomic word.", "locations")
    ] = None,
    groups: Annotated[
        int | None, _number(_PROGRAM, "Atomic words, each with its own locations.", "groups")
    ] = None,
    address_range: Annotated[int | None, _number(_PROGRAM, "Lines under test.", "lines")] = None,
    scopes: Annotated[
        int | None,
        _number(_PROGRAM, "Percentage of actions that bypass caches.", "scope_percent"),
    ] = None,
    max_seconds: Annotated[
        float | None,
        _option(_RUN, "Begin no further leg after this time.", metavar="SECONDS", parser=_seconds),
    ] = None,
    deadlock_limit: Annotated[
        int | None,
        _number(_RUN, "Ticks without progress that are a hang (100000).", "deadlock_limit"),
    ] = None,
    save_program: Annotated[
        Path | None, _option(_OUTPUT, "Write the first leg as a replay file.", metavar="FILE")
    ] = None,
    output: Annotated[
        Path, _option(_OUTPUT, "Where replay files of failures go (here).", metavar="DIR")
    ] = Path(),
    coverage: Annotated[
        Path | None, _option(_OUTPUT, "Write transition counts as JSON.", metavar="FILE")
    ] = None,
    trace: Annotated[
        str | None,
        _option(_OUTPUT, "Print transitions: of every line, or of one.", metavar="all|ADDRESS"),
    ] = None,
    engine: Annotated[
        Choice,
        _option(
            _RUN,
            "What runs the legs: controllers compiled to native code, or the Python ones; the "
            "results are the same (auto: native where there is a compiler).",
        ),
    ] = Choice.auto,
    jobs: Annotated[
        int,
        _number(_RUN, "Processes to run legs in (1).", "jobs", "--jobs", "-j"),
    ] = 1,
    diff_engines: Annotated[
        bool,
        _option(_RUN, "Run both engines and print the first transition in which they differ."),
    ] = False,
    quiet: Annotated[bool, _option(_OUTPUT, "Print the verdict only.", "--quiet", "-q")] = False,
    no_progress: Annotated[bool, _option(_OUTPUT, "No live progress.", "--no-progress")] = False,
    version: Annotated[
        bool, version_option("gpu-tester", rich_help_panel=_OUTPUT, show_default=False)
    ] = False,
) -> None:
    """Break a coherence protocol: run random data-race-free programs on it and judge every byte."""
    from tester.cli.options import Request
    from tester.cli.session import run

    fixed: dict[str, object] = {
        "units": cus,
        "wavefronts": wavefronts,
        "lanes": lanes,
        "cpus": cpus,
        "banks": tccs,
        "directories": dirs,
        "write_back": write_back,
        "delays": delay.value if delay is not None else None,
        "lengths": (episode_length,) if episode_length is not None else None,
        "locations": locations,
        "groups": groups,
        "lines": address_range,
        "scope_percent": scopes,
    }
    sizes = {
        "l1": (l1_size, l1_sets, l1_ways),
        "l2": (l2_size, l2_sets, l2_ways),
    }
    request = Request(
        episodes=episodes,
        seed=seed,
        protocol=protocol,
        profile=profile,
        replay=replay,
        include=tuple(include or ()),
        preludes=tuple(prelude or ()),
        system=system,
        leg_episodes=leg_episodes,
        fixed={name: value for name, value in fixed.items() if value is not None},
        cache_sizes=sizes,
        one_request_per_lane=one_request_per_lane,
        known_defects=known_defects,
        assignments=tuple(set_ or ()),
        deadlock_limit=deadlock_limit,
        max_seconds=max_seconds,
        save_program=save_program,
        output=output,
        coverage=coverage,
        trace=trace,
        quiet=quiet,
        engine=engine,
        diff_engines=diff_engines,
        jobs=jobs,
        progress=not no_progress,
    )
    raise typer.Exit(_status(lambda: run(request)))


def _status(command: Callable[[], object]) -> int:
    return run_command(
        "gpu-tester", command, _in_words, "this is a bug of the tester, not of the protocol"
    )


def _in_words(error: Exception) -> Stop | None:
    from protocols.loader import ProtocolBroken, ProtocolMissing
    from runtime.description import DescriptionError
    from slicc.loading.reader import CannotRead
    from tester.errors import ConfigError
    from tester.program.replay_file import ReplayError

    if isinstance(error, ProtocolBroken):
        return Stop(str(error), complete=True)
    given = (ProtocolMissing, DescriptionError, ReplayError, ConfigError, CannotRead)
    return Stop(str(error)) if isinstance(error, given) else None


def main() -> NoReturn:
    """Entry point of the ``gpu-tester`` command."""
    if sys.argv[1:2] == ["diff-engines"]:
        sys.argv[1] = "--diff-engines"
    heed_endings()
    sys.exit(_status(app))


if __name__ == "__main__":
    main()
