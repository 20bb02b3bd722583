"""Statistics of one run in every form, and what adding legs keeps."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from runtime.statistics.counted import Counted, Histogram, Occupancy, Route
from runtime.statistics.words import SAMPLE_TICKS, TallyWord, latency_bucket
from tester.campaign.run import run
from tester.cli.main import app
from tester.statistics.documents import document
from tester.statistics.formats import StatsFormat, format_of
from tester.statistics.statistics import OccupancySeries, Statistics, percentile
from tests.slicc.text.hostile import EVERY

RUN = ("MI", "--episodes", "30", "--leg-episodes", "10", "--seed", "3", "--engine", "python", "-q")


def gpu_tester(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout + done.stderr


@pytest.fixture(scope="module")
def statistics() -> Statistics:
    result = run("MI", 30, 3, leg_episodes=10, engine="python", stats=True)
    assert result.statistics is not None
    return result.statistics


def test_the_command_writes_what_the_api_returns(statistics: Statistics, tmp_path: Path) -> None:
    for name in ("a.json", "a.csv", "a.html", "a.txt"):
        status, text = gpu_tester(*RUN, "--stats", tmp_path / name)
        assert status == 0, text
        format = format_of(Path(name))
        assert format is not None
        expected = document(statistics, format, "MI: 30 episodes, seed 3")
        assert (tmp_path / name).read_text() == expected


def test_processes_change_nothing(tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        gpu_tester(*RUN, "--jobs", jobs, "--stats", tmp_path / jobs, "--stats-format", "json")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_what_was_not_asked_for_is_not_there() -> None:
    assert run("MI", 10, 1, engine="python").statistics is None


def test_csv_and_json_say_the_same(statistics: Statistics) -> None:
    rows = list(csv.DictReader(document(statistics, StatsFormat.csv, "x").splitlines()))
    value = json.loads(document(statistics, StatsFormat.json, "x"))
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["measure"]] += float(row["value"])
    assert value["schema"] == "gpu-tester.statistics/1"
    assert sums["messages"] == sum(each["messages"] for each in value["messages"])
    assert sums["bytes"] == sum(each["bytes"] for each in value["messages"])
    assert sums["hits"] == value["machines"]["L1Cache"]["hits"] > 0
    answers = [each["answers"] for each in value["latencies"].values()]
    assert sums["latency"] == sum(answers) > 0
    means = [mean for each in value["occupancy"]["series"] for mean in each["means"]]
    assert sums["occupancy"] == pytest.approx(sum(means))


def test_bytes_are_those_of_lines_where_there_are_data(statistics: Statistics) -> None:
    rows = {route.kind: (count, size) for route, count, size in statistics.routes()}
    count, size = rows["GETX"]
    assert size == 8 * count
    count, size = rows["DATA"]
    assert size == 72 * count


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(f"/{tag}")
        assert self.open.pop() == tag


def test_the_page_is_balanced_and_plots_everything(statistics: Statistics) -> None:
    page = document(statistics, StatsFormat.html, "MI")
    parsed = _Page(page)
    assert parsed.open == []
    used = [series for series in statistics.occupancy.values() if any(series.sums)]
    assert parsed.tags.count("polyline") == len(used) > 3
    assert parsed.tags.count("svg") == len(used) + len(statistics.latencies) + 1
    assert not re.search("nan|inf", page) and "src=" not in page and "http" not in page


@pytest.mark.parametrize("text", EVERY)
def test_a_name_stays_a_text(statistics: Statistics, text: str) -> None:
    harmless = _Page(document(statistics, StatsFormat.html, "x")).tags
    assert _Page(document(statistics, StatsFormat.html, text)).tags == harmless
    lines = document(statistics, StatsFormat.text, text).split("\n")
    assert len(lines) == len(document(statistics, StatsFormat.text, "x").split("\n"))
    assert "\n".join(lines).replace("\n", "").isprintable()


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    status, text = gpu_tester(*RUN, "--stats-format", "json")
    assert status == 2 and "--stats-format json has no effect without --stats" in text
    status, text = gpu_tester(*RUN, "--stats", tmp_path / "no" / "a.json")
    assert status == 2 and "cannot be written" in text


# ------------------------------------------------------------------ adding legs


SERIES = ("L1", "TBEs")
ROUTE = Route(0, "a", "b", "GETS")


def of(interval: int, sums: list[int]) -> Counted:
    return Counted(
        Counter({ROUTE: 2}),
        Counter({ROUTE: 144}),
        {"L1": [1] * len(TallyWord)},
        {},
        Occupancy((SERIES,), interval, np.array(sums, np.int64).reshape(-1, 1)),
    )


def test_legs_of_different_lengths_are_added_tick_by_tick() -> None:
    """Rows of two ticks' looks meet rows of one; a shorter leg has no looks at the end."""
    one, other = of(SAMPLE_TICKS, [1, 3, 5]), of(2 * SAMPLE_TICKS, [10, 20, 30])
    for legs in ((one, other), (other, one)):
        both = Statistics(64)
        for each in legs:
            both.add(each)
        series = both.occupancy[SERIES]
        assert both.interval == 2 * SAMPLE_TICKS
        assert series == OccupancySeries((14, 25, 30), (4, 3, 2))
        assert series.means == [3.5, 25 / 3, 15.0]
        assert list(both.routes()) == [(ROUTE, 4, 288)]
        assert both.hit_rate() == 0.5


def test_percentiles_are_those_of_buckets() -> None:
    histogram = Histogram()
    for ticks in (1, 1, 1, 100):
        histogram.counts[latency_bucket(ticks)] += 1
    assert [percentile(histogram, percent) for percent in (50, 75, 99)] == [1, 1, 96]
    assert percentile(Histogram(), 50) == 0


def test_they_are_called_lower_ends(statistics: Statistics) -> None:
    text = document(statistics, StatsFormat.text, "x")
    assert re.search(r"mean +median from +90 % from +99 % from\n", text)
