"""Files of ``gpu-tester`` of any kind, as what is known of one protocol.

Campaigns and explorations write one kind, mutation studies another; a file says which it is.
Invariant: everything in one :class:`Results` is of the same texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from slicc.coverage import file as cells_file
from slicc.coverage import mutants as mutants_file
from slicc.coverage.cells import Cells
from slicc.coverage.file import CoverageError, add_cells, cells_from, read_object
from slicc.coverage.mutants import Study, study_from
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Results:
    """None: no such file was given."""

    cells: Cells | None = None
    study: Study | None = None


NOTHING: Final = Results()


def read_results(files: Iterable[Path], digest: str, where: Path) -> Results:
    """``digest``: of the texts at ``where``. Raises CoverageError."""
    cells: Cells | None = None
    study: Study | None = None
    for path in files:
        found = _read(path)
        if found.digest != digest:
            raise CoverageError(
                path,
                f"is of another text of {found.protocol} ({found.digest}) than {where} ({digest})",
            )
        if isinstance(found, Study):
            if study is not None:
                raise CoverageError(path, "is a second mutation study; one can be shown")
            study = found
        elif cells is None:
            cells = found
        else:
            add_cells(path, found, cells)
    return Results(cells, study)


def _read(path: Path) -> Cells | Study:
    known = read_object(path)
    match known.get("schema"):
        case mutants_file.SCHEMA:
            return study_from(path, known)
        case str(schema) if schema.startswith(cells_file.FAMILY):
            return cells_from(path, known)
        case _:
            raise CoverageError(
                path,
                "is neither a coverage file (--coverage of gpu-tester run and explore) nor a "
                "mutation study (gpu-tester mutate --format json)",
            )
