"""The table of history: that it is well formed, and how two texts are compared.

The table itself is opt-in: ``python -m tests.gem5.history --clone DIR``.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tester.campaign.left_out import FEW, Apart, LeftOut
from tests.gem5.history.attack import Answer, Round, attack, attack_apart
from tests.gem5.history.judgement import Judgement, Verdict, compare, confirmed, suspects
from tests.gem5.history.repairs import failures_of, repairs
from tests.gem5.history.rows import ROWS, Row
from tests.gem5.history.texts import both_texts, later_commits
from tests.planted.bug import PROTOCOLS
from tests.planted.bugs import BY_NAME

PASSED = Answer(rounds=(Round(),))
ONE_LEG = Answer(rounds=(Round((), {"hang": 7}, 1),))


def failed(*what: str) -> Answer:
    return Answer(rounds=(Round((), dict.fromkeys(what, 7), FEW),))


def rounds(*kinds: str) -> Answer:
    """One failure in each campaign, or none."""
    found = ({kind: 7} if kind else {} for kind in kinds)
    return Answer(rounds=tuple(Round((LeftOut("it"),), each, FEW * len(each)) for each in found))


def test_rows_name_each_commit_once() -> None:
    assert len(ROWS) >= 60
    assert len({row.commit for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert re.fullmatch("[0-9a-f]{10}", row.commit)
        assert row.fault
        assert row.takes
        assert "|" not in row.fault + row.takes


@pytest.mark.parametrize(
    ("faulty", "mended", "verdict"),
    [
        ([PASSED, PASSED], [PASSED, PASSED], Verdict.MISSED),
        ([PASSED, failed("hang")], [PASSED, PASSED], Verdict.UNCLEAR),
        ([failed("hang"), PASSED], [failed("hang"), PASSED], Verdict.MASKED),
        ([ONE_LEG, PASSED], [failed("hang"), PASSED], Verdict.MISSED),
        ([failed("hang"), failed("leak")], [failed("hang"), PASSED], Verdict.UNCLEAR),
        ([failed("hang"), failed("leak")], [failed("leak"), PASSED], Verdict.UNCLEAR),
        ([PASSED, failed("leak")], [PASSED, failed("hang")], Verdict.UNCLEAR),
        ([failed("hang", "leak"), failed("leak")], [failed("hang"), failed("hang")], Verdict.FOUND),
        ([failed("leak"), failed("panic")], [failed("hang"), failed("hang")], Verdict.UNCLEAR),
        ([failed("leak"), failed("panic")], [PASSED, PASSED], Verdict.UNCLEAR),
        ([PASSED, PASSED], [failed("hang"), PASSED], Verdict.MISSED),
        ([rounds("leak", "hang")] * 2, [rounds("leak", "")] * 2, Verdict.FOUND),
        ([rounds("leak", "")] * 2, [rounds("leak", "")] * 2, Verdict.MISSED),
        ([rounds("leak", "hang"), PASSED], [rounds("leak", "panic"), PASSED], Verdict.UNCLEAR),
        ([rounds("leak", "leak")] * 2, [rounds("leak", "leak")] * 2, Verdict.MASKED),
        ([Answer(refused="why"), PASSED], [PASSED, PASSED], Verdict.REFUSED),
        ([failed("hang"), PASSED], [Answer(refused="why"), PASSED], Verdict.REFUSED),
    ],
)
def test_how_two_texts_compare(
    faulty: list[Answer], mended: list[Answer], verdict: Verdict
) -> None:
    assert compare(faulty, mended).verdict is verdict


def test_further_seeds_say_whose_a_failure_is() -> None:
    seen = suspects([failed("leak"), failed("hang")], [failed("hang"), failed("leak")])
    assert [each.kind for each in seen] == ["leak", "hang"]
    assert confirmed(seen, [failed("hang")], [failed("leak")]) == Judgement(
        Verdict.FOUND, "hang", 7
    )
    assert confirmed(seen, [failed("hang")], [failed("hang")]) is None
    assert confirmed(seen, [PASSED], [PASSED]) is None
    behind = suspects([rounds("hang"), PASSED], [rounds(""), PASSED])
    assert confirmed(behind, [rounds("hang")], [failed("hang"), rounds("")]) is not None
    assert confirmed(seen[1:], [failed("hang")], [rounds("hang")]) is None


@pytest.mark.slow
def test_an_attack_on_a_text_of_our_own(tmp_path: Path) -> None:
    driver = BY_NAME["mi-fill-wakes-nothing"].plant(tmp_path)
    answer = attack(driver, 300, 1, [Round()])
    assert {"hang", "hang load"} <= answer.failures.keys(), "and what is stuck"
    few = LeftOut("many", {"units": 1, "dmas": 0})
    (without,) = attack(driver, 100, 1, [Round((few,))]).rounds
    assert without.left_out[0].what == "many" and not without.failures
    assert attack_apart(driver, 300, 1, [Round()]) == answer, "through JSON"
    out_of_time = attack_apart(PROTOCOLS / "MI.slicc", 10**9, 1, [Round()], limit=1)
    assert out_of_time.refused == "no verdict in 1 s of processor time"
    broken = tmp_path / "Broken.slicc"
    broken.write_text('protocol "Broken";\ninclude "nothing.sm";\n', encoding="utf-8")
    assert "nothing.sm" in attack(broken, 10, 1).refused


@pytest.mark.parametrize(
    ("bug", "seed", "foreign"),
    [("mi-late-putx-is-taken", 4, False), ("mi-dma-writes-the-whole-line", 1, True)],
)
def test_foreign_bytes_are_no_old_copies(
    bug: str, seed: int, foreign: bool, tmp_path: Path
) -> None:
    """Also in legs that run alone."""
    driver = BY_NAME[bug].plant(tmp_path)
    (first,) = attack(driver, 129, seed, [Round()]).rounds
    assert "wrong data" in first.failures
    assert ("wrong data foreign" in first.failures) is foreign
    alone = Round(apart=tuple(Apart(leg, (LeftOut("nothing"),)) for leg in range(2)))
    (again,) = attack(driver, 129, seed, [alone]).rounds
    assert again.failures.keys() == first.failures.keys()


def test_legs_that_fail_are_attacked_again_without_what_makes_them(tmp_path: Path) -> None:
    driver = BY_NAME["mi-dma-read-leaves-a-transaction"].plant(tmp_path)
    (alone,) = attack(driver, 100, 10, [Round(apart=())]).rounds
    assert alone.apart
    assert {each.left_out[0].what for each in alone.apart} == {"loads by dma"}
    assert not alone.failures and not alone.legs
    assert attack_apart(driver, 100, 10, [alone]).rounds == (alone,)


def test_the_commit_that_repairs_a_failure_is_the_first_without_it() -> None:
    later = "abcde"
    ends = {"hang": "d", "panic": "a", "never": "z", "by chance": "c"}

    def fails(kind: str, revision: str) -> bool:
        if revision.endswith("^"):
            return kind != "by chance"
        return revision < ends[kind]

    found = {each.what: each.commit for each in repairs(ends, later, fails)}
    assert found == {"hang": "d", "panic": "a", "never": "", "by chance": ""}
    assert [str(each) for each in repairs(["hang"], "", fails)] == ["hang to date"]


def commit(clone: Path) -> str:
    """Commit all files below a directory, which becomes a clone if it is none yet; the id."""

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        command = ["git", "-C", str(clone), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "it")
    return git("rev-parse", "HEAD")


def test_both_texts_come_out_of_a_clone(tmp_path: Path) -> None:
    """A clone of two commits, the second of which mends the first."""
    clone = tmp_path / "clone"
    folder = clone / "src" / "mem" / "protocol"
    folder.mkdir(parents=True)
    for text in ("faulty", "mended"):
        (folder / "Mine.slicc").write_text(text, encoding="utf-8")
        last = commit(clone)
    row = Row(last, "Mine", "it", "that")
    before, after = both_texts(clone, row, tmp_path / "out")
    assert (before.read_text(), after.read_text()) == ("faulty", "mended")
    assert later_commits(clone, row, after) == []
    with pytest.raises(FileNotFoundError, match=r"has no Other\.slicc"):
        both_texts(clone, Row(row.commit, "Other", "it", "that"), tmp_path / "out")


@pytest.mark.slow
def test_later_texts_of_a_clone_are_attacked(tmp_path: Path) -> None:
    """The second commit is of another protocol, the third one repairs the first."""
    clone = tmp_path / "clone"
    folder = clone / "src" / "mem" / "protocol"
    folder.mkdir(parents=True)
    driver = BY_NAME["mi-fill-wakes-nothing"].plant(folder)
    first = commit(clone)
    (folder / "Other-cache.sm").write_text("other", encoding="utf-8")
    commit(clone)
    for text in folder.glob("MI-*.sm"):
        text.write_bytes((PROTOCOLS / text.name).read_bytes())
    mended = commit(clone)
    assert later_commits(clone, Row(first, "MI", "it", "that"), driver) == [mended]
    fails = failures_of(clone, "MI", 100, [1])
    assert fails("hang", first)
    assert not fails("hang", mended)
    assert repairs(["hang"], [mended], fails)[0].commit == mended
    (folder / "MI-cache.sm").write_text("machine", encoding="utf-8")
    assert fails("anything", commit(clone)), "nothing is known of a text that is refused"
