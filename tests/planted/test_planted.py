"""The tester is tested: it finds every planted bug, and nothing in the protocols as they are.

Both engines end in the same verdict, in the same episode. The quick part runs always. The whole
catalogue, 5 seeds each, is the group ``planted``:
``python -m pytest -n 2 -m planted tests/planted``.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from slicc.compiler import compile
from tests.compiling import CHECKED
from tests.planted.bug import TESTED, Bug, BugClass, plant_together
from tests.planted.bugs import BUGS, BY_NAME, ELUSIVE
from tests.planted.run import SEEDS, fast_engine, hunt, load_planted
from tests.sampling import sampled

QUICK = (
    "tcp-store-without-mask",
    "tcc-drops-a-waiting-request",
    "dir-merged-store-is-forgotten",
)
ALONE = SEEDS[:2]
"""What the native engine finds, the Python engine confirms, whatever the seed. With these it hunts
alone as well, so that what the native one overlooks is seen."""
OF_THE_GROUP = {*((bug.name, 1) for bug in BUGS[::12]), *((name, 1) for name in ELUSIVE)}
"""Hunts of the Python engine alone that the group makes; the others are behind ``-m slow``."""


def test_the_catalogue_has_every_class_and_no_name_twice() -> None:
    reliable = [bug for bug in BUGS if bug.name not in ELUSIVE]
    assert {bug.kind for bug in reliable} == set(BugClass)
    assert len(BY_NAME) == len(BUGS)
    assert len(reliable) >= 20
    assert set(ELUSIVE) <= set(BY_NAME)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_fits_the_protocol(bug: Bug) -> None:
    text = (Path(__file__).parents[2] / "protocols" / bug.file).read_text(encoding="utf-8")
    assert bug.change(text) != text


@pytest.mark.parametrize("protocol", TESTED)
def test_every_bug_compiles(protocol: str, tmp_path: Path) -> None:
    """Many at a time: all that still fit beside each other."""
    left = [bug for bug in BUGS if bug.protocol == protocol]
    for number in range(len(left)):
        directory = tmp_path / str(number)
        directory.mkdir()
        main, left = plant_together(left, directory)
        compile(main)
        if not left:
            break
    assert not left


@pytest.fixture(autouse=True)
def little_optimisation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of what a bug costs is compiling it, and the hunts are short."""
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)


@pytest.mark.parametrize("name", sampled(QUICK, 3))
def test_a_gross_bug_is_found_at_once(name: str, tmp_path: Path) -> None:
    protocol = load_planted(BY_NAME[name], tmp_path)
    found = hunt(protocol, 1, 500, fast_engine(protocol))
    assert found.verdict in BY_NAME[name].verdicts, found
    assert hunt(protocol, 1, 500) == found


@pytest.mark.planted
@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.name not in ELUSIVE], ids=lambda bug: bug.name
)
def test_the_default_campaign_finds(bug: Bug, tmp_path: Path) -> None:
    protocol = load_planted(bug, tmp_path)
    engine = fast_engine(protocol)
    found = {seed: hunt(protocol, seed, bug.episodes, engine) for seed in SEEDS}
    missed = [seed for seed, one in found.items() if one.verdict is None]
    assert not missed, f"{bug.wrong} Not found with seeds {missed}."
    assert all(one.verdict in bug.verdicts for one in found.values()), found


@pytest.mark.parametrize(
    ("bug", "seed"),
    [
        pytest.param(
            bug,
            seed,
            id=f"{bug.name}-{seed}",
            marks=pytest.mark.planted if (bug.name, seed) in OF_THE_GROUP else pytest.mark.slow,
        )
        for bug, seed in product(BUGS, ALONE)
    ],
)
def test_the_python_engine_alone_ends_alike(bug: Bug, seed: int, tmp_path: Path) -> None:
    protocol = load_planted(bug, tmp_path)
    assert hunt(protocol, seed, engine=fast_engine(protocol)) == hunt(protocol, seed)


@pytest.mark.planted
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TESTED)
def test_the_protocol_itself_passes(name: str, seed: int) -> None:
    protocol = load_protocol(name, native=True)
    passed = hunt(protocol, seed, engine=fast_engine(protocol))
    assert passed.verdict is None
    if seed == ALONE[0]:
        assert hunt(protocol, seed) == passed
