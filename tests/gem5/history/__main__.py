"""``python -m tests.gem5.history --clone DIR``: attack every row, and print the table.

Where a mended text fails as well, the commit that repairs this is looked for among those after it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gem5.history.judgement import Judgement, Verdict, judge
from tests.gem5.history.repairs import failures_of, repairs
from tests.gem5.history.rows import ROWS, Row
from tests.gem5.history.texts import both_texts, later_commits

EPISODES = 5000
SEEDS = (1, 2)
_LARGE = ("CHI", "GPU_VIPER")


def main() -> None:
    """Judge the rows and print a Markdown table, and the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clone", type=Path, required=True, help="a clone of gem5 with history")
    parser.add_argument("--row", action="append", default=[], help="only this commit")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--later",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="look for the later commits that repair what fails with mended texts too",
    )
    given = parser.parse_args()
    rows = [row for row in ROWS if not given.row or row.commit in given.row]

    fails = {
        protocol: failures_of(given.clone, protocol, given.episodes, SEEDS)
        for protocol in {row.protocol for row in rows}
    }

    def judged(row: Row) -> tuple[Judgement, str]:
        if row.undetectable:
            return Judgement(Verdict.UNDETECTABLE, row.undetectable), ""
        with TemporaryDirectory() as directory:
            before, after = both_texts(given.clone, row, Path(directory))
            result = judge(before, after, given.episodes, SEEDS)
            if not result.still or not given.later:
                return result, ""
            later = later_commits(given.clone, row, after)
        repaired = repairs(result.still, later, fails[row.protocol])
        return result, f"; mended text: {', '.join(map(str, repaired))}"

    print("| commit | protocol | fault | takes | result |\n| --- | --- | --- | --- | --- |")
    results = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for row, (result, later) in zip(rows, pool.map(judged, rows)):
            results.append(result)
            cells = (f"`{row.commit}`", row.protocol, row.fault, row.takes, f"{result}{later}")
            print(f"| {' | '.join(cells)} |", flush=True)
    for title, here in (("Other protocols", False), (" and ".join(_LARGE), True)):
        mine = [r for row, r in zip(rows, results) if (row.protocol in _LARGE) == here]
        print(f"\n{_score(title, mine)}")


def _score(title: str, results: list[Judgement]) -> str:
    """``CHI and GPU_VIPER: found 12 of 20 (60 %), ...``"""
    counts = Counter(result.verdict for result in results)
    behind = sum(result.verdict is Verdict.FOUND and bool(result.without) for result in results)
    judged = len(results) - counts[Verdict.REFUSED] - counts[Verdict.UNDETECTABLE]
    parts = [
        f"{verdict.value} {counts[verdict]} ({100 * counts[verdict] / max(1, judged):.0f} %)"
        for verdict in (Verdict.FOUND, Verdict.UNCLEAR, Verdict.MASKED, Verdict.MISSED)
    ]
    rest = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in (Verdict.REFUSED, Verdict.UNDETECTABLE)
    )
    parts[0] += f", {behind} of them behind other faults"
    return f"{title}: of {judged} rows: {', '.join(parts)}; besides, {rest}."


main()
