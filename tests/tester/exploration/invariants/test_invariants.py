"""The language of invariants, what it refuses, and a bug that nothing but an invariant sees."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from tester.errors import ConfigError
from tester.exploration.exploration import Conclusion, explore
from tester.exploration.invariants.language import (
    InvariantError,
    parse_invariant,
    read_invariants,
)
from tester.exploration.invariants.words import MOST_INVARIANTS
from tester.exploration.native_search import Rules
from tester.exploration.native_words import FindingKind
from tester.exploration.report import Namer, verdict_line
from tester.exploration.small_system import Bounds
from tests.planted.bug import PROTOCOLS, Edit
from tests.tester.exploration.systems import protocol, searched

LOADS = Bounds(caches=1, lines=2, locations=1, operations=("load",))
HELD = "some Directory in S implies not all L1Cache in I"


def judged(text: str, bounds: Bounds = LOADS) -> Conclusion:
    """What exploring MSI with the invariant comes to."""
    rules = Rules(invariants=(parse_invariant(protocol("MSI"), text),))
    return searched("MSI", bounds, rules).conclusion


@pytest.mark.parametrize(
    "text",
    [
        "no L1Cache in M, IM_AD, IM_A",
        "all L1Cache is Read_Only, Busy, Invalid",
        HELD,
        "count(L1Cache in S) + count(L1Cache in I) <= 1 and not some L1Cache is Read_Write",
        "count(L1Cache in M) != 1 and 0 == count(Directory in M)",
        "some L1Cache in S implies some Directory in S implies 2 > 1",
        "count(L1Cache in S) >= 1 or count(L1Cache in S) < 1",
        "L1Cache in S within entry.Sharers of Directory | entry.Owner of Directory",
        "no entry.Sharers of Directory & entry.Owner of Directory",
        "count(entry.Sharers of Directory) + count(entry.Owner of Directory) <= 1",
        "sum(entry.AcksOutstanding of L1Cache) == 0 and sum(entry.Acks of Directory in S) > -1",
        "all Directory in S where size(entry.Sharers) <= 1, entry.DirState == S or not some "
        "Directory in S",
        "no L1Cache where entry.CacheState == M",
        "1 == 2 or 1 == 1 and (" * 15 + "1 == 1" + ")" * 15,
    ],
)
def test_what_holds_of_loads(text: str) -> None:
    assert judged(text) is Conclusion.EXHAUSTED


@pytest.mark.parametrize(
    "text",
    [
        "no L1Cache in S",
        "all L1Cache in I",
        "some L1Cache in I, IS_D",
        "count(L1Cache in S) + count(Directory in S) != 2",
        "some Directory in S implies no L1Cache is Read_Only",
        "not (some L1Cache in S or some L1Cache in M)",
        "1 > count(L1Cache in S)",
        "count(L1Cache in S) < 1",
        "1 == 1 and 1 + 1 <= 1",
        "L1Cache within entry.Sharers of Directory",
        "no entry.Sharers of Directory & L1Cache",
        "count(entry.Sharers of Directory | L1Cache) > 1",
        "sum(entry.AcksOutstanding of L1Cache) < 0",
        "no L1Cache in S where entry.CacheState == S, entry.AcksOutstanding >= 0",
        "not some Directory where size(entry.Sharers) > 0",
    ],
)
def test_what_does_not_hold_of_loads(text: str) -> None:
    assert judged(text) is Conclusion.FOUND


SHARED = "L1Cache in S within entry.Sharers of Directory"
EXCLUSIVE = "L1Cache in E, M within entry.Exclusive of L2Cache"
OF_OWNERS = f"some L2Cache in MT implies {EXCLUSIVE}"


@pytest.mark.parametrize(
    ("name", "text", "steps"),
    [
        ("MSI", f"some Directory in S implies {SHARED}", None),
        ("MSI", SHARED, 7),
        ("MSI", "no L1Cache where entry.AcksOutstanding < 0", 9),
        ("MSI", "some Directory in S, M", 0),
        pytest.param("MESI_Two_Level", OF_OWNERS, None, marks=pytest.mark.explore),
        pytest.param("MESI_Two_Level", EXCLUSIVE, 7, marks=pytest.mark.explore),
    ],
)
def test_what_caches_have_and_a_directory_knows(name: str, text: str, steps: int | None) -> None:
    """``steps``: of the shortest run that breaks it, if one does."""
    rules = Rules(invariants=(parse_invariant(protocol(name), text),))
    found = searched(name, Bounds(caches=2, lines=1, locations=1), rules)
    assert (len(found.finding.trace) if found.finding else None) == steps


@pytest.mark.parametrize(
    ("text", "headline", "help"),
    [
        ("no L1Cach in M", "`L1Cach` is no machine", "did you mean `L1Cache`?"),
        ("no L1Cache in IM_ADD", "`IM_ADD` is no state of L1Cache", "did you mean `IM_AD`?"),
        ("no L1Cache is ReadOnly", "`ReadOnly` is no permission in L1Cache", "`Read_Only`?"),
        ("no L1Cache in M orr no Directory in M", "`orr` cannot stand here", "`or`?"),
        (
            "no L1Cache where entry.AckOutstanding > 0",
            "field of L1Cache",
            "`entry.AcksOutstanding`",
        ),
        ("no L1Cache where tbe.Acks > 0", "`tbe.Acks` is no field of L1Cache", "there are"),
        ("no L1Cache where entry.CacheState == IM_ADD", "value of entry.CacheState", "`IM_AD`"),
        ("no entry.DataBlk of L1Cache", "`entry.DataBlk` names no controllers", ""),
        ("sum(entry.Sharers of Directory) == 0", "is no number", "use `size(entry.Sharers)`"),
        ("all entry.Sharers of Directory", "`all` has a machine behind it", "within"),
        ("no L1Cache in", "the invariant ends too early", ""),
        ("no L1Cache in M ; 1 == 1", "`;` means nothing here", ""),
        ("not " * 20 + "1 == 1", "longer than 1000 characters, or deeper than 16", ""),
    ],
)
def test_mistakes_are_shown_at_their_place(text: str, headline: str, help: str) -> None:
    with pytest.raises(InvariantError) as raised:
        parse_invariant(protocol("MSI"), text)
    shown = str(raised.value)
    assert headline in shown and help in shown
    assert shown.count("^") >= 1


def test_a_file_beside_the_protocol_has_one_in_each_line(tmp_path: Path) -> None:
    msi = protocol("MSI")
    driver = tmp_path / "MSI.slicc"
    driver.with_suffix(".invariants").write_text(f"{HELD}\n\nno L1Cache in M\n")
    found = read_invariants(msi, driver, ["1 == 1"])
    assert [each.text for each in found] == ["1 == 1", HELD, "no L1Cache in M"]
    driver.with_suffix(".invariants").write_text("1 == 1\nno L1Cache in X\n")
    with pytest.raises(InvariantError, match=r"MSI\.invariants:2:15"):
        read_invariants(msi, driver, [])
    with pytest.raises(
        ConfigError, match=f"{MOST_INVARIANTS + 1} invariants, of at most {MOST_INVARIANTS}"
    ):
        read_invariants(msi, tmp_path / "none", ["1 == 1"] * (MOST_INVARIANTS + 1))


def test_a_bug_that_only_an_invariant_sees(tmp_path: Path) -> None:
    """A directory that keeps a line shared after its last reader left it: nothing goes wrong."""
    for file in PROTOCOLS.glob("MSI[.-]*"):
        shutil.copy(file, tmp_path)
    text = tmp_path / "MSI-dir.sm"
    edit = Edit("transition(S, PutSLast, I)", "transition(S, PutSLast, S)")
    text.write_text(edit.apply(text.read_text()))
    planted = load_protocol(str(tmp_path / "MSI.slicc"), native=True)
    assert explore(planted, LOADS, Rules()).conclusion is Conclusion.EXHAUSTED
    rules = Rules(invariants=(parse_invariant(planted, HELD),))
    found = explore(planted, LOADS, rules)
    assert found.finding is not None and found.finding.kind is FindingKind.INVARIANT
    word, verdict = verdict_line(found, Namer(planted, found.system))
    assert (word, verdict) == (
        "FOUND",
        f"an invariant does not hold: {HELD}, after {len(found.finding.trace)} steps",
    )
