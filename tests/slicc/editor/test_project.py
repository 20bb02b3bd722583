"""Protocols compiled again and again while they are edited."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from protocols import shipped
from slicc.editor.completion import complete
from slicc.editor.hover import hover
from slicc.editor.navigation import definitions, outline, references
from slicc.editor.positions import real
from slicc.editor.project import Project
from tests.gem5.checkout import DRIVERS
from tests.gem5.conftest import gem5_root as gem5_root
from tests.sampling import sampled
from tests.slicc.editor.offered import OFFERED

CACHE = real(str(shipped()["MSI"].parent / "MSI-cache.sm"))
TEXT = Path(CACHE).read_text()
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))]


def test_a_file_belongs_to_all_drivers_that_include_it() -> None:
    messages = real(str(shipped()["GPU_VIPER"].parent / "MOESI_AMD_Base-msg.sm"))
    project = Project()
    project.compile({messages: Path(messages).read_text()})
    names = {snapshot.loaded.name for snapshot in project.of(messages)}
    assert names >= {"MOESI_AMD_Base", "GPU_VIPER", "GPU_VIPER_APU"}


def test_only_what_changed_is_understood_again() -> None:
    project = Project()
    project.compile({CACHE: TEXT})
    (first,) = project.of(CACHE)
    project.compile({CACHE: TEXT})
    assert project.of(CACHE) == [first] and project.of(CACHE)[0] is first
    directory = project.trees.last(Path(CACHE.replace("cache", "dir")))
    project.compile({CACHE: TEXT.replace("Here, to read", "Here")})
    assert project.of(CACHE)[0] is not first
    assert project.trees.last(Path(CACHE.replace("cache", "dir"))) is directory


def test_a_closed_file_is_forgotten() -> None:
    project = Project()
    project.compile({CACHE: TEXT})
    project.compile({})
    assert project.of(CACHE) == [] and project.findings() == []


def test_errors_of_syntax_hide_what_follows_from_them() -> None:
    project = Project()
    project.compile({CACHE: TEXT.replace("state_declaration(State,", "state_declaration(State")})
    assert {found.slug for found in project.findings()} == {"syntax-error"}
    (snapshot,) = project.of(CACHE)
    assert not snapshot.valid and snapshot.machine("Directory") is not None


@pytest.mark.parametrize(
    ("place", "typed", "offered", "not_offered"),
    sampled(((place, *each) for each in OFFERED for place in ("transition(I, Store", "}")), 5),
)
def test_what_is_half_written_is_completed_once_it_was_understood(
    place: str, typed: str, offered: str, not_offered: str
) -> None:
    """Of an author who pauses, in the middle of a machine or where it ends."""
    start = TEXT.rindex(place)
    cursor = start + typed.index("|")
    text = f"{TEXT[:start]}{typed.replace('|', '')}\n{TEXT[start:]}"
    project = Project()
    project.compile({CACHE: text})
    (snapshot,) = project.of(CACHE)
    found = {each.name for each in complete(snapshot, CACHE, text, cursor)}
    assert offered in found
    assert not_offered not in found


def test_an_allowance_is_heeded() -> None:
    project = Project()
    unused = 'action(zz_unused, "zz", desc="") { kw; }\n'.replace(
        "kw;", "wakeUpAllBuffers(address);"
    )
    end = TEXT.rindex("}")
    for comment, slugs in (
        ("", {"unused-action"}),
        ("// slicc: allow(unused-action) a test\n", set()),
    ):
        project.compile({CACHE: TEXT[:end] + comment + unused + TEXT[end:]})
        assert {found.slug for found in project.findings()} == slugs


@pytest.mark.parametrize("seed", SEEDS)
def test_no_edit_ends_the_project(seed: int) -> None:
    """Every intermediate text is compiled, and everything is asked at the place of the edit."""
    drawn, project, text = random.Random(seed), Project(), TEXT
    pieces = ["{", "}", "(", ")", '"', ";", "/*", "in_msg.", "\0", "\u2028", "State:", ""]
    for _ in range(5):
        start = drawn.randrange(len(text) + 1)
        end = min(len(text), start + drawn.choice([0, 0, 1, 5, 300]))
        taken = text[start : start + drawn.randrange(400)]
        text = text[:start] + drawn.choice([*pieces, taken]) + text[end:]
        project.compile({CACHE: text})
        (snapshot,) = project.of(CACHE)
        use = snapshot.use_at(CACHE, start)
        assert use is None or hover(snapshot, use)
        complete(snapshot, CACHE, text, start)
        definitions([snapshot], CACHE, start)
        references([snapshot], CACHE, start)
        tree = project.trees.last(Path(CACHE))
        assert tree is not None
        assert tree.unit is None or list(outline(tree.unit.declarations)) is not None
        if drawn.random() < 0.3:
            text = TEXT
    project.compile({CACHE: TEXT})
    assert project.findings() == []


@pytest.mark.parametrize("seed", SEEDS)
def test_the_compiler_understands_every_half_written_text(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A deletion never makes the compiler give up: that would be logged."""
    drawn, project = random.Random(100 + seed), Project()
    for _ in range(4):
        start = drawn.randrange(len(TEXT))
        project.compile({CACHE: TEXT[:start] + TEXT[start + drawn.choice([1, 10, 200, 3000]) :]})
    assert caplog.records == []


@pytest.mark.gem5
@pytest.mark.parametrize("name", ["CHI-cache-actions.sm", "CHI-cache-transitions.sm"])
def test_every_name_of_chi_can_be_asked_for(gem5_root: Path, name: str) -> None:
    """Each tenth name that has a meaning, in files of thousands of lines."""
    path = real(str(gem5_root / DRIVERS["CHI"].parent / name))
    text, project = Path(path).read_text(), Project()
    project.compile({path: text})
    (snapshot,) = project.of(path)
    assert snapshot.valid and snapshot.machine_at(path, len(text) // 2) == "Cache"
    uses = [use for use in snapshot.index.uses.found if real(use.span.file.name) == path]
    assert len(uses) > 1000
    for use in uses[::10]:
        assert snapshot.use_at(path, use.span.start) is not None
        assert hover(snapshot, use)
    offered = [complete(snapshot, path, text, use.span.end) for use in uses[::100]]
    assert sum(map(bool, offered)) > 0.9 * len(offered)
