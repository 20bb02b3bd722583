"""What was tested, laid over tables and sources: runs of cells, ways to them, mistakes found.

Invariant: what a cell, a body or a line shows is what the files say of it; the numbers of the
overview are sums of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc.coverage.cells import Cell, Status
from slicc.coverage.mutants import Fate, Mutant, Study, counted, in_words, score_of
from slicc.coverage.report import MEANINGS
from slicc.coverage.results import Results
from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text

SURVIVED = "survived"
"""The class of what has a mistake that no test found."""
_JUDGED = (Fate.KILLED, Fate.SURVIVED)


@dataclass(frozen=True, slots=True)
class Mutants:
    """``text``: ``mutants: 3 killed, 1 survived``. ``survivors``: what each of them changes."""

    text: str
    survivors: tuple[str, ...]

    @property
    def kind(self) -> str:
        return SURVIVED if self.survivors else "killed"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a cell. ``status``: a class of the style sheet, empty without coverage;
    ``note`` says it; ``way``: the steps to a cell that can be reached."""

    status: str = ""
    note: str = ""
    way: tuple[str, ...] = ()
    mutants: Mutants | None = None

    @property
    def classes(self) -> str:
        survived = self.mutants is not None and self.mutants.survivors
        return " ".join(filter(None, (self.status, SURVIVED if survived else "")))


@dataclass(frozen=True, slots=True)
class MachineScore:
    """A line of the overview; ``cells``: what is known of them, in words."""

    machine: str
    cells: tuple[str, ...]
    mutants: str
    equivalent: int
    score: str


UNKNOWN = Known()


class Overlays:
    """By what is shown: cells, actions and lines of sources."""

    def __init__(self, results: Results) -> None:
        self.results = results
        mutants = () if results.study is None else results.study.mutants
        self._of_cells = _groups(
            ((mutant.machine, *cell), mutant) for mutant in mutants for cell in mutant.cells
        )
        self._of_bodies = _groups(
            ((mutant.machine, mutant.where), mutant) for mutant in mutants if not mutant.cells
        )
        self._of_lines = _groups(
            ((_last(mutant.file), str(mutant.line)), mutant) for mutant in mutants
        )

    def cell(self, machine: str, cell: Cell) -> Known:
        """What is known of a cell."""
        mutants = _mutants(self._of_cells.get((machine, *cell), ()))
        cells = self.results.cells
        known = None if cells is None else cells.machines.get(machine)
        if cells is None or known is None or cell not in known.counts:  # it only stalls
            return Known(mutants=mutants)
        status = cells.status(machine, cell)
        way = known.ways.get(cell, ()) if status is Status.REACHABLE else ()
        steps = tuple(page_text(step) for step in way)
        return Known(status.value, cells.note(machine, cell), steps, mutants)

    def body(self, machine: str, name: str) -> Mutants | None:
        """The mutants of an action or a function."""
        return _mutants(self._of_bodies.get((machine, name), ()))

    def line(self, file: str, line: int) -> Mutants | None:
        """The mutants of what stands on a line of a source."""
        return _mutants(self._of_lines.get((_last(file), str(line)), ()))

    @property
    def legend(self) -> list[tuple[str, str]]:
        """What the classes of cells mean."""
        cells = [] if self.results.cells is None else [(s.value, MEANINGS[s]) for s in Status]
        return cells + ([] if self.results.study is None else [(SURVIVED, "a mutant survived")])

    def scores(self, machines: Iterable[str]) -> Iterator[MachineScore]:
        """The lines of the overview; none without results."""
        if self.legend:
            for name in machines:
                yield self._score(name)

    def _score(self, name: str) -> MachineScore:
        cells, study = self.results.cells, self.results.study
        words = []
        if cells is not None and name in cells.machines:
            found = cells.by_status(name)
            words = [f"{len(of)} {MEANINGS[status]}" for status, of in found.items() if of]
        mutants = () if study is None else study.mutants
        fates = counted(mutant for mutant in mutants if mutant.machine == name)
        score = score_of(fates)
        text = "" if score is None else f"{score:.1f} %"
        return MachineScore(name, tuple(words), in_words(fates), fates[Fate.EQUIVALENT], text)

    @property
    def systems(self) -> list[str]:
        """The systems that were explored to their end."""
        cells = self.results.cells
        return [] if cells is None else [page_text(each.what) for each in cells.exhausted]

    @property
    def study(self) -> str:
        """Of which mutants the scores are, as text; empty without a study."""
        study = self.results.study
        return "" if study is None else _of_study(study)


def _of_study(study: Study) -> str:
    return page_text(
        f"{len(study.mutants):,} of {study.of:,} mutants, {study.episodes:,} episodes each, "
        f"seed {study.seed}, version {study.version}"
    )


def _groups(pairs: Iterable[tuple[tuple[str, ...], Mutant]]) -> dict[tuple[str, ...], list[Mutant]]:
    found: dict[tuple[str, ...], list[Mutant]] = {}
    for key, mutant in pairs:
        found.setdefault(key, []).append(mutant)
    return found


def _mutants(mutants: Iterable[Mutant]) -> Mutants | None:
    """What is said of mutants that a run has judged; None: there are none."""
    judged = [mutant for mutant in mutants if mutant.fate in _JUDGED]
    if not judged:
        return None
    survivors = [page_text(m.description) for m in judged if m.fate is Fate.SURVIVED]
    return Mutants(f"mutants: {in_words(counted(judged))}", tuple(survivors))


def _last(file: str) -> str:
    """The name without directories, which are those of the machine that ran the study."""
    return file.replace("\\", "/").rsplit("/", 1)[-1]
