"""``python -m tests.gem5.history --clone DIR``: attack every row, and print the table."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gem5.history.judgement import Judgement, Verdict, judge
from tests.gem5.history.rows import ROWS, Row
from tests.gem5.history.texts import both_texts

EPISODES = 5000
SEEDS = (1, 2)


def main() -> None:
    """Judge the rows and print a Markdown table, and the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clone", type=Path, required=True, help="a clone of gem5 with history")
    parser.add_argument("--row", action="append", default=[], help="only this commit")
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    rows = [row for row in ROWS if not given.row or row.commit in given.row]

    def judged(row: Row) -> Judgement:
        with TemporaryDirectory() as directory:
            before, after = both_texts(given.clone, row, Path(directory))
            return judge(before, after, given.episodes, SEEDS)

    print("| commit | protocol | fault | takes | result |\n| --- | --- | --- | --- | --- |")
    results = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for row, result in zip(rows, pool.map(judged, rows)):
            results.append(result)
            cells = (f"`{row.commit}`", row.protocol, row.fault, row.takes, str(result))
            print(f"| {' | '.join(cells)} |", flush=True)
    counts = {verdict: sum(r.verdict is verdict for r in results) for verdict in Verdict}
    print("\n" + ", ".join(f"{verdict.value} {count}" for verdict, count in counts.items()))


main()
