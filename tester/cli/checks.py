"""Whether the options of a command make sense together, asked before anything runs.

Invariant: options that pass name paths that can be written to and are not read by the same command,
and do not contradict each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runtime.description import MAX_ENTRIES
from slicc.text.command.options import given, names_of, specs
from slicc.text.files import why_lost, why_not_writable
from tester.cli.options.common import LegOptions, OutputOptions, ProtocolOptions, SeriesOptions
from tester.errors import ConfigError
from tester.limits import LIMITS
from tester.statistics.formats import format_of

if TYPE_CHECKING:
    from tester.campaign.drawing.usable_options import Given
    from tester.cli.options.run import RunOptions
    from tester.cli.options.trace import TraceOptions

_FIXED: Final = (
    *("units", "wavefronts", "lanes", "cpus", "banks", "directories", "write_back"),
    *("locations", "groups", "lines", "scope_percent"),
)
"""Options that a profile has under the same name; see `fixed_options` for the others."""


def check_includes(options: ProtocolOptions) -> None:
    """Raises ConfigError."""
    for directory in options.include:
        if not directory.is_dir():
            raise ConfigError(f"--include {directory}: it is not a directory")


def check_shown(options: OutputOptions) -> None:
    """Raises ConfigError."""
    if options.quiet and options.verbose:
        raise ConfigError("--quiet and --verbose: only one of them is possible")


def check_run(options: RunOptions) -> None:
    """Refuse, as ConfigError, options that cannot have their effect."""
    if options.jobs > 1 and options.trace is not None:
        raise ConfigError(f"--jobs {options.jobs} has no effect with --trace")
    check_shown(options)
    check_directory(options.output)
    check_stats(options)
    check_files(
        {
            "--coverage": options.coverage,
            "--save-program": options.save_program,
            "--stats": options.stats,
        },
        options,
    )


def check_stats(options: RunOptions | TraceOptions) -> None:
    """Raises ConfigError."""
    if options.stats_format is not None and options.stats is None:
        raise ConfigError(f"--stats-format {options.stats_format} has no effect without --stats")
    if options.stats is None or options.stats_format is not None:
        return
    if format_of(options.stats) is None:
        raise ConfigError(
            f"--stats {options.stats}: {options.stats.suffix} is the ending of no format; there "
            "are .txt, .json, .csv and .html, and --stats-format for other names"
        )


def check_nothing_drawn(options: SeriesOptions) -> None:
    """A leg from a file runs as it was: an option to draw others by is a mistake."""
    for name in given(options, SeriesOptions):
        raise ConfigError(f"diff runs the leg of a file as it is, so {name} has no effect with it")


def check_directory(directory: Path) -> None:
    """Refuse what ``--output`` names before hours of running are lost there."""
    reason = why_not_writable(directory)
    if reason is not None:
        raise ConfigError(f"--output {directory}: cannot be written: {reason}")


def check_files(
    files: Mapping[str, Path | None], options: object = None, read: tuple[str, Path] | None = None
) -> None:
    """As `check_directory`, for files; no two options may name one, nor one that is read.

    ``read``: what it is, as messages call it, and its path. What ``options`` make the protocol of
    is read as well.
    """
    there = {option: path for option, path in files.items() if path is not None}
    for option, path in there.items():
        reason = _why_no_file(path)
        if reason is not None:
            raise ConfigError(f"{option} {path}: cannot be written: {reason}")
    lost = why_lost(there, [*_read(options), *([] if read is None else [read])])
    if lost is not None:
        raise ConfigError(lost)


def _why_no_file(path: Path) -> str | None:
    if path.is_dir():
        return "it is a directory"
    if path.exists() and not path.is_file():  # a device or a pipe, which is written to as it is
        return None if os.access(path, os.W_OK) else f"{path} may not be written to"
    there = None if path.parent.is_dir() else f"{path.parent} does not exist"
    return why_not_writable(path.parent) or there


def _read(options: object) -> Iterator[tuple[str, Path]]:
    """The files that options name a protocol and its system by."""
    from protocols import shipped

    if isinstance(options, ProtocolOptions):
        if options.protocol is not None and options.protocol not in shipped():
            path = Path(options.protocol)
            yield "the protocol", path
            yield "the system's description", path.parent / f"{path.stem}.toml"
            yield "the protocol's invariants", path.parent / f"{path.stem}.invariants"
        for prelude in options.prelude:
            yield "a prelude", prelude
    system: Path | None = getattr(options, "system", None)
    if system is not None:
        yield "the system's description", system


def given_options(options: LegOptions) -> Iterator[Given]:
    """The options that were given: field, value, and as they are written."""
    for field, spec in specs(LegOptions):
        value = getattr(options, field.name)
        if value != field.default:
            names = names_of(field, spec)[0].split("/")
            flag = isinstance(value, bool)
            name = names[0] if not flag or value else names[-1]
            yield field.name, value, name if flag else f"{name} {value}"


def fixed_options(options: LegOptions, line_size: int) -> dict[str, object]:
    """The profiles' options that the command line fixes, cache sizes turned into sets and ways."""
    fixed: dict[str, object] = {name: getattr(options, name) for name in _FIXED}
    fixed["delays"] = None if options.delay is None else options.delay.value
    fixed["lengths"] = None if options.length is None else (options.length,)
    for level, size, sets, ways in (
        ("l1", options.l1_size, options.l1_sets, options.l1_ways),
        ("l2", options.l2_size, options.l2_sets, options.l2_ways),
    ):
        if size is not None:
            sets, ways = _geometry(level, size, sets, ways, line_size)
        if (sets or 1) * (ways or 1) > MAX_ENTRIES:
            raise ConfigError(
                f"--{level}-sets {sets} with --{level}-ways {ways}: "
                f"{MAX_ENTRIES} lines are possible"
            )
        fixed |= {f"{level}_sets": sets, f"{level}_ways": ways}
    return {name: value for name, value in fixed.items() if value is not None}


def _geometry(
    level: str, size: int, sets: int | None, ways: int | None, line_size: int
) -> tuple[int, int]:
    """Sets and ways of a cache of ``size`` bytes, one of which may be given."""
    lines, rest = divmod(size, line_size)
    if rest or lines < 1:
        raise ConfigError(f"--{level}-size {size} is not a number of {line_size}-byte lines")
    if sets is not None and ways is not None:
        raise ConfigError(f"--{level}-size with both --{level}-sets and --{level}-ways")
    if sets is None:
        ways = ways or (2 if lines % 2 == 0 else 1)
        sets, rest = divmod(lines, ways)
        why_not = f"are not whole sets of {ways} ways"
    else:
        ways, rest = divmod(lines, sets)
        why_not = f"do not fill {sets} sets evenly"
    if rest or not sets or not ways:
        raise ConfigError(f"--{level}-size {size}: {lines} lines {why_not}")
    refusal = LIMITS[f"{level}_sets"].refusal(sets) or LIMITS[f"{level}_ways"].refusal(ways)
    if refusal:
        raise ConfigError(f"--{level}-size {size}: {sets} sets of {ways} ways: {refusal}")
    return sets, ways
