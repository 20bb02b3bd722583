"""What the analysis is worth: silence on sound protocols, and mistakes that it finds.

The suite runs a small part; ``-m slow -s`` and ``-m gem5 --gem5-root DIR -s`` measure the rest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from protocols import shipped
from slicc import ir
from slicc.analysis import analyse
from slicc.analysis.allowances import without_allowed
from slicc.analysis.product.exploration import Draws
from slicc.analysis.reachable import walked
from slicc.compiler import compile
from slicc.diagnostics.model import Diagnostic
from slicc.loading import texts
from tests.gem5.checkout import DRIVERS
from tests.sampling import sampled
from tests.slicc.analysis.edits import without_transition
from tests.slicc.analysis.mistakes import Edit, mistakes

JUDGED = ("MSI", "MI", "MESI_Two_Level")
"""Of these a default campaign reaches every cell of the tables."""


@pytest.mark.parametrize("name", sampled(sorted(shipped(), reverse=True), 4))
def test_shipped_protocols_have_no_finding_that_is_not_allowed(name: str) -> None:
    compiled = compile(shipped()[name])
    found = [*compiled.diagnostics, *analyse(compiled.protocol)]
    assert without_allowed(found, compiled.sources) == ([], [])


def test_findings_with_kept_trees_are_those_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each of a few edits, drawn from all lines of actions in the table."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for path in shipped()["MSI"].parent.glob("MSI*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    edited = tmp_path / "MSI-dir.sm"
    lines = edited.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if "transition(" in line)
    actions = [n for n in range(first, len(lines)) if lines[n].strip().endswith(";")]
    draws = Draws(3)
    for _ in range(3):
        lines[draws.one_of(actions)] = ""
        edited.write_text("\n".join(lines))
        kept = found_in(tmp_path / "MSI.slicc")
        with monkeypatch.context() as without:
            without.setattr(texts, "kept_tree", lambda path, source: None)
            assert found_in(tmp_path / "MSI.slicc") == kept
    assert kept, "the last text has three mistakes"


def found_in(driver: Path) -> list[tuple[str, str, str, int]]:
    compiled = compile(driver)
    return [
        (one.slug, one.headline, one.primary.span.file.name, one.primary.span.start)
        for one in (*compiled.diagnostics, *analyse(compiled.protocol, steps=100))
    ]


# ------------------------------------------------------------------ unhandled pairs


def unhandled(protocol: ir.Protocol) -> set[tuple[str, str, str]]:
    happenings = walked(protocol).happenings
    return {(h.machine, h.state, h.event) for h in happenings if h.kind == "unhandled"}


def test_a_deleted_transition_of_msi_is_missed() -> None:
    protocol = compile(shipped()["MSI"]).protocol
    for machine in protocol.machines:
        edited, gone = without_transition(protocol, machine, len(machine.transitions) // 2)
        assert unhandled(edited) == gone != set()


@pytest.mark.slow
@pytest.mark.parametrize("name", JUDGED)
def test_deleted_transitions_are_missed_where_they_can_happen(name: str) -> None:
    protocol = compile(shipped()[name]).protocol
    cells = hits = wrong = 0
    for machine in protocol.machines:
        for index in range(len(machine.transitions)):
            edited, gone = without_transition(protocol, machine, index)
            found = unhandled(edited)
            cells += len(gone)
            hits += len(found & gone)
            wrong += len(found - gone)
    print(f"{name}: {hits} of {cells} cells, {wrong} others")
    assert hits >= 0.7 * cells
    assert hits >= 0.85 * (hits + wrong)


# ------------------------------------------------------------------ seeded mistakes


@dataclass
class Tally:
    made: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    on_line: Counter[str] = field(default_factory=Counter)


def judge(edits: list[Edit], kind: str, tally: Tally) -> None:
    for protocol, span in edits:
        found = analyse(protocol)
        tally.made[kind] += 1
        if found:
            first = found[0].primary.span
            tally.found[kind] += 1
            tally.on_line[kind] += (first.file, first.line) == (span.file, span.line)


def drawn(draws: Draws, edits: list[Edit], number: int) -> list[Edit]:
    left = list(edits)
    return [left.pop(draws.below(len(left))) for _ in range(min(number, len(left)))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", (1, 2, 3, 4))
def test_most_seeded_mistakes_are_found(seed: int) -> None:
    tally, draws = Tally(), Draws(seed)
    for name in JUDGED:
        for kind, edits in mistakes(compile(shipped()[name]).protocol).items():
            judge(drawn(draws, edits, 18), kind, tally)
    for kind, made in tally.made.items():
        print(f"{kind}: {made} made, {tally.found[kind]} found, {tally.on_line[kind]} on the line")
        assert tally.found[kind] >= 0.6 * made
    assert tally.made.total() >= 200
    assert tally.on_line.total() >= 0.95 * tally.found.total()


# ------------------------------------------------------------------ gem5


@pytest.mark.gem5
def test_gem5_has_few_warnings(gem5_root: Path) -> None:
    machines = 0
    found: list[Diagnostic] = []
    for path in DRIVERS.values():
        if (gem5_root / path).exists():
            compiled = compile(gem5_root / path, [(gem5_root / path).parent.parent])
            machines += len(compiled.machines)
            found += [*compiled.diagnostics, *analyse(compiled.protocol)]
    kinds = Counter(one.slug for one in found)
    print(f"{len(found)} warnings, {machines} machines: {kinds.most_common()}")
    assert len(found) <= 5 * machines
