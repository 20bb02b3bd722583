"""What a command line of ``gpu-tester`` asked for, and whether that makes sense.

Invariant: what passes `check` names places that can be written to, and no two options of it
contradict each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runtime.description import MAX_ENTRIES
from tester.campaign.engine_choice import Choice
from tester.errors import ConfigError
from tester.limits import LIMITS
from tester.output_files import why_not_writable


@dataclass(frozen=True)
class Request:
    """What the command line asked for; None: not given."""

    episodes: int = 1000
    seed: int | None = None
    protocol: str | None = None
    profile: str = "default"
    replay: Path | None = None
    include: tuple[Path, ...] = ()
    preludes: tuple[Path, ...] = ()
    system: Path | None = None
    leg_episodes: int | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    cache_sizes: Mapping[str, tuple[int | None, int | None, int | None]] = field(
        default_factory=dict
    )
    """``l1``, ``l2`` -> (bytes, sets, ways)."""
    one_request_per_lane: bool | None = None
    known_defects: bool = False
    assignments: tuple[str, ...] = ()
    deadlock_limit: int | None = None
    max_seconds: float | None = None
    save_program: Path | None = None
    output: Path = Path()
    coverage: Path | None = None
    trace: str | None = None
    quiet: bool = False
    engine: Choice = Choice.auto
    diff_engines: bool = False
    jobs: int = 1
    progress: bool = True


def check(request: Request) -> None:
    """Refuse, as ConfigError, what cannot have the effect that was asked for."""
    if request.replay is not None:
        _refuse_what_a_leg_fixes(request)
    _refuse_what_needs_one_process(request)
    _check_places(request)
    for directory in request.include:
        if not directory.is_dir():
            raise ConfigError(f"--include {directory}: it is not a directory")


def _refuse_what_a_leg_fixes(request: Request) -> None:
    """A replayed leg runs as it was; an option that could not have its effect is a mistake."""
    given = {
        "--episodes": request.episodes != Request.episodes,
        "--seed": request.seed is not None,
        "--profile": request.profile != Request.profile,
        "--system": request.system is not None,
        "--leg-episodes": request.leg_episodes is not None,
        "--set": bool(request.assignments),
        "--known-defects": request.known_defects,
        "--deadlock-limit": request.deadlock_limit is not None,
        "--save-program": request.save_program is not None,
        "an option of shape or size": bool(request.fixed)
        or request.one_request_per_lane is not None
        or any(size != (None, None, None) for size in request.cache_sizes.values()),
    }
    wrong = [option for option, is_given in given.items() if is_given]
    if wrong:
        raise ConfigError(f"--replay runs a leg as it is, so {wrong[0]} has no effect with it")


def _refuse_what_needs_one_process(request: Request) -> None:
    if request.jobs == 1:
        return
    for option, given in (
        ("--replay", request.replay is not None),
        ("--trace", request.trace is not None),
        ("--diff-engines", request.diff_engines),
    ):
        if given:
            raise ConfigError(f"--jobs {request.jobs} has no effect with {option}")


def _check_places(request: Request) -> None:
    """Refuse places that cannot be written to before hours of running are lost there."""
    for option, path in (
        ("--output", request.output / "any.leg"),
        ("--coverage", request.coverage),
        ("--save-program", request.save_program),
    ):
        if path is None:
            continue
        reason = why_not_writable(path.parent)
        if reason is None and option != "--output" and not path.parent.is_dir():
            reason = f"{path.parent} does not exist"
        if reason is None and path.is_dir():
            reason = "it is a directory"
        if reason is not None:
            shown = path.parent if option == "--output" else path
            raise ConfigError(f"{option} {shown}: cannot be written: {reason}")
    files = [os.path.realpath(file) for file in (request.save_program, request.coverage) if file]
    if len(files) == 2 and files[0] == files[1]:
        raise ConfigError(f"--save-program and --coverage both write to {request.coverage}")


def fixed_options(request: Request, line_size: int) -> dict[str, object]:
    """The profiles' options that the command line fixes, cache sizes turned into sets and ways."""
    fixed = dict(request.fixed)
    for level, (size, sets, ways) in request.cache_sizes.items():
        if size is not None:
            lines, rest = divmod(size, line_size)
            if rest or lines < 1:
                raise ConfigError(
                    f"--{level}-size {size} is not a number of {line_size}-byte lines"
                )
            if sets is not None and ways is not None:
                raise ConfigError(f"--{level}-size with both --{level}-sets and --{level}-ways")
            if sets is None:
                ways = ways or (2 if lines % 2 == 0 else 1)
                sets, rest = divmod(lines, ways)
            else:
                ways, rest = divmod(lines, sets)
            if rest or not sets or not ways:
                raise ConfigError(
                    f"--{level}-size {size}: {lines} lines are not whole sets of {ways} ways"
                )
            refusal = LIMITS[f"{level}_sets"].refusal(sets) or LIMITS[f"{level}_ways"].refusal(ways)
            if refusal:
                raise ConfigError(f"--{level}-size {size}: {sets} sets of {ways} ways: {refusal}")
        if (sets or 1) * (ways or 1) > MAX_ENTRIES:
            raise ConfigError(
                f"--{level}-sets {sets} with --{level}-ways {ways}: "
                f"{MAX_ENTRIES} lines are possible"
            )
        if sets is not None:
            fixed[f"{level}_sets"] = sets
        if ways is not None:
            fixed[f"{level}_ways"] = ways
    return fixed
