"""Shared fixtures. ``pytest --update`` rewrites golden files instead of comparing."""

from __future__ import annotations

from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

Golden = Callable[[str, str], None]

# How long an example takes is the machine's business: one that is busy is no failure.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files")
    parser.addoption("--gem5-root", metavar="DIR", help="a gem5 v24.0 checkout, for -m gem5")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(name, text)`` compares with ``golden/<name>`` beside the test module.

    ``.txt`` is appended to a name without suffix. A missing file fails like a different one.
    """
    folder = Path(request.path).parent / "golden"
    update = bool(request.config.getoption("--update"))

    def compare(name: str, text: str) -> None:
        path = folder / (name if "." in name else f"{name}.txt")
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != expected:
            difference = "\n".join(
                unified_diff(
                    expected.splitlines(), text.splitlines(), str(path), "now", lineterm="", n=3
                )
            )
            pytest.fail(f"differs from its golden file (--update accepts it):\n{difference}")

    return compare
