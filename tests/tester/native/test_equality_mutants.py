"""Protocols with a random mistake run alike on both engines, down to the text of the verdict.

Mistakes are those of authors: an action too many or too few, two in the wrong order, a condition
turned round, a row or an assignment forgotten. Most mutants end in a verdict, all kinds of them.
"""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, ProtocolBroken, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tests.compiling import CHECKED
from tests.sampling import sampled
from tests.tester.native.equality import (
    named,
    native_engine,
    run_in_python,
    run_natively,
    words_of,
)

FILES = {
    "MI": ("MI-cache.sm", "MI-dir.sm", "MI-dma.sm"),
    "MSI": ("MSI-cache.sm", "MSI-dir.sm"),
    "MSI_Snoop": ("MSI_Snoop-cache.sm", "MSI_Snoop-mem.sm"),
    "MESI_Two_Level": (
        "MESI_Two_Level-L1cache.sm",
        "MESI_Two_Level-L2cache.sm",
        "MESI_Two_Level-dir.sm",
    ),
    "MOESI_AMD_Base": ("MOESI_AMD_Base-CorePair.sm", "MOESI_AMD_Base-APUdir.sm"),
    "GPU_VIPER": (
        "GPU_VIPER-TCP.sm",
        "GPU_VIPER-TCC.sm",
        "GPU_VIPER-SQC.sm",
        "MOESI_AMD_Base-dir.sm",
    ),
}
LEGS = 4
DEADLOCK_LIMIT = 5000
PROTOCOLS = Path(__file__).parents[3] / "protocols"


def mutate(text: str, rng: random.Random) -> str:
    """The text with one random mistake in it."""
    lines = text.split("\n")
    actions = _matching(lines, r"\s+\w+;\s*(//.*)?$")
    kind = rng.randrange(6)
    place = rng.choice(actions)
    if kind == 0:
        lines[place] = ""
    elif kind == 1:
        lines[place] += lines[place]
    elif kind == 2:
        other = rng.choice(actions)
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[rng.choice(_matching(lines, r".*:="))] = ""
    elif kind == 4:
        place = rng.choice(_matching(lines, r"\s+transition\("))
        while "}" not in lines[place]:
            lines[place] = ""
            place += 1
        lines[place] = ""
    else:
        place = rng.choice(_matching(lines, r".*\bif \(.*\) \{"))
        lines[place] = re.sub(r"\bif \((.*)\) \{", r"if (!(\1)) {", lines[place])
    return "\n".join(lines)


def _matching(lines: list[str], pattern: str) -> list[int]:
    return [place for place, line in enumerate(lines) if re.match(pattern, line)]


def mutant(name: str, rng: random.Random, directory: Path) -> LoadedProtocol:
    """A protocol with a mistake that the compiler does not see."""
    for path in PROTOCOLS.glob("*.*"):
        if path.suffix in (".sm", ".slicc", ".toml"):
            shutil.copy(path, directory / path.name)
    file = directory / rng.choice(FILES[name])
    original = file.read_text(encoding="utf-8")
    while True:
        file.write_text(mutate(original, rng), encoding="utf-8")
        try:
            return load_protocol(str(directory / f"{name}.slicc"), native=True)
        except ProtocolBroken:
            continue


@pytest.mark.parametrize("seed", sampled((1, 2), 2))
def test_a_few_mutants_end_alike(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check("MI", seed, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
@pytest.mark.parametrize("name", FILES)
def test_many_mutants_end_alike(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(name, seed, tmp_path, monkeypatch)


def check(name: str, seed: int, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)  # they run for milliseconds
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory / "cache"))
    rng = random.Random(seed)
    protocol = mutant(name, rng, directory)
    chosen = native_engine(protocol)
    assert chosen.native is not None
    for _ in range(LEGS):
        campaign = Campaign(protocol, Options(rng.randrange(1 << 30), 60))
        leg = replace(campaign.plan(rng.randrange(14)).leg, deadlock_limit=DEADLOCK_LIMIT)
        mine, native = run_natively(protocol, chosen.native, leg)
        theirs, python = run_in_python(protocol, leg)
        assert mine == theirs
        error = python.outcome.error
        assert (native.error is None) == (error is None)
        if native.error is not None and error is not None:
            assert words_of(named(native.error, protocol, leg)) == words_of(error)
