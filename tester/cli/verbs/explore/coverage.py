"""``gpu-tester coverage``: what campaigns and explorations reached of a protocol, as one."""

from __future__ import annotations

from protocols.loader import digest_named
from slicc.coverage.cells import Cells
from slicc.coverage.file import CoverageError, merged, write_cells
from slicc.coverage.report import as_json, missing, summary, systems
from slicc.text.command.exit_status import FINE
from slicc.text.terminal import printable_lines
from tester.cli.checks import check_files, check_includes
from tester.cli.options.common import Format
from tester.cli.options.coverage import CoverageOptions
from tester.errors import ConfigError


def coverage(options: CoverageOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    check_files({"--output": options.output}, options)
    try:
        cells = merged(options.files)
    except CoverageError as error:
        raise ConfigError(str(error)) from None
    _check_text(cells, options)
    if options.output is not None:
        write_cells(cells, options.output)
    if options.format is Format.json:
        print(as_json(cells))
        return FINE
    for line in (
        f"{cells.protocol} ({cells.digest}), {len(options.files)} files",
        *summary(cells),
        *systems(cells),
        *(missing(cells) if options.missing else ()),
    ):
        print(printable_lines(line))
    return FINE


def _check_text(cells: Cells, options: CoverageOptions) -> None:
    """Raises ConfigError, and what loading raises."""
    if options.protocol is None:
        return
    digest = digest_named(options.protocol, options.include, options.prelude)
    if digest != cells.digest:
        raise ConfigError(
            f"{options.files[0]}: is of another text of {cells.protocol} ({cells.digest}) than "
            f"{options.protocol} ({digest})"
        )
