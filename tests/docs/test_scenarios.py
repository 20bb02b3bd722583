"""The page of scenarios: its examples run, its tables have every word and every slug."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slicc.scenario_text.conditions import Model
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import parse_scenario
from slicc.source import SourceFile
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON
from tester.litmus.series import run_series
from tests.tester.scenarios import bound, protocol

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```litmus\n(.*?)^```$", PAGE, re.S | re.M)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
@pytest.mark.parametrize("model", list(Model))
def test_the_examples_run(number: int, model: Model) -> None:
    made = bound(EXAMPLES[number], "MSI")
    campaign = Campaign(protocol("MSI"), Options(1, 1))
    assert run_series(made, PYTHON, campaign, 3, 1, model).failed is None


def test_the_error_is_what_is_printed() -> None:
    text = "P0 | P1\nstore A = 1 |\n  | load A\n"
    with pytest.raises(ScenarioError) as caught:
        bound(text).leg(1)
    assert str(caught.value) in PAGE


def test_the_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.S | re.M)
    exec(compile(code, "scenarios.md", "exec"), {})
    counts = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert sum(counts) == 20


def test_the_tables_have_every_word_of_the_grammar() -> None:
    grammar = (ROOT / "slicc" / "scenario_text" / "grammar.lark").read_text(encoding="utf-8")
    words = set(re.findall(r'"([a-z]+)"', grammar)) - {"true", "false", "byte", "episode", "lane"}
    assert len(words) > 30
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.S | re.M)
    code = " ".join(re.findall(r"`([^`]+)`", prose))
    assert {word for word in words if not re.search(rf"\b{word}\b", code)} == set()


def test_the_table_has_every_slug() -> None:
    sources = [
        *(ROOT / "tester").rglob("*.py"),
        *(ROOT / "slicc" / "scenario_text").rglob("*.py"),
        *(ROOT / "gpu").rglob("*.py"),
    ]
    used: set[str] = set()
    for source in sources:
        text = source.read_text(encoding="utf-8")
        used |= set(re.findall(r'(?:ScenarioError|refuse)\(\s*"([a-z-]+)"', text))
    listed = set(re.findall(r"^\| `scenario-([a-z-]+)`", PAGE, re.M))
    assert used - listed == set()
    assert len(listed) == 14


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / link).exists(), link


def test_a_text_of_the_page_is_read_as_it_stands() -> None:
    titles = [parse_scenario(SourceFile("page", text)).title for text in EXAMPLES]
    assert titles == ["an upgrade meets the invalidation of another one", "store buffering"]
