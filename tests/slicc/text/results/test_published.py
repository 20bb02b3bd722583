"""Results against the schemas that others publish (``-m published --schemas DIR``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slicc.text.results.junit import junit_text
from slicc.text.results.model import Case, Fault, Suite, Tool
from slicc.text.results.sarif import sarif_text
from tests.slicc.cli.verbs.test_check_formats import broken as broken
from tests.slicc.cli.verbs.test_check_formats import check
from tests.slicc.text.results.published import check_published_junit, check_published_sarif
from tests.slicc.text.results.test_results import findings, hostile, rules

pytestmark = pytest.mark.published


@hostile
def test_any_text_keeps_to_both(text: str, pytestconfig: pytest.Config) -> None:
    document = json.loads(sarif_text(Tool("gpu-tester", "1.2"), rules(text), findings(text)))
    check_published_sarif(pytestconfig, document)
    cases = [Case(text, "leg 0", output=text), Case("a", text, Fault("hang", text, text))]
    suite = Suite("gpu-tester", cases, 12345.5, {"seed": text}, text)
    check_published_junit(pytestconfig, junit_text(suite))


def test_findings_of_a_protocol(broken: Path, pytestconfig: pytest.Config) -> None:
    check_published_sarif(pytestconfig, json.loads(check(broken, "sarif").stdout))
    check_published_junit(pytestconfig, check(broken, "junit").stdout)


def test_a_schema_refuses(pytestconfig: pytest.Config) -> None:
    with pytest.raises(AssertionError):
        check_published_sarif(pytestconfig, {"version": "2.1.0", "runs": [{}]})
    with pytest.raises(AssertionError):
        check_published_junit(pytestconfig, "<testsuites><testcase/></testsuites>")
