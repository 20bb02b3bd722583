"""Failures of a run against the schemas that others publish (``-m published --schemas DIR``)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.slicc.text.results.published import check_published_junit, check_published_sarif
from tests.tester.formats.test_documents import broken as broken
from tests.tester.formats.test_documents import failing

pytestmark = pytest.mark.published


def test_failures_of_a_run(broken: Path, pytestconfig: pytest.Config) -> None:
    check_published_sarif(pytestconfig, json.loads(failing(broken, "sarif")[0]))
    check_published_junit(pytestconfig, failing(broken, "junit")[0])
