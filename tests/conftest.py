"""Shared fixtures. ``pytest --update`` rewrites golden files instead of comparing."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator
from difflib import unified_diff
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.compiling import CHECKED

Golden = Callable[[str, str], None]

# How long an example takes is the machine's business: one that is busy is no failure. Examples are
# the same in every run: what fails, fails again. ``--hypothesis-profile drawn`` draws others, and
# twice as many.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("drawn", _UNTIMED)
settings.register_profile("same", _UNTIMED, derandomize=True, max_examples=50)
settings.load_profile("same")


TESTS = Path(__file__).parent
QUICK = (
    "docs/test_architecture.py",
    "gpu/dispatch",
    "gpu/hsa",
    "gpu/packet_processor",
    "protocols/test_mesi_races.py",
    "protocols/test_msi_races.py",
    "protocols/test_races.py",
    "runtime/controller",
    "runtime/network",
    "runtime/requesters",
    "runtime/sim",
    "runtime/structures",
    "runtime/system",
    "runtime/types",
    "slicc/check",
    "slicc/diagnostics",
    "slicc/ir",
    "slicc/loading",
    "slicc/parser/mistakes/test_mistakes.py",
    "slicc/resolve",
    "slicc/syntax",
    "tester/campaign/test_run.py",
    "tester/execution/test_checker.py",
    "tester/execution/test_handover.py",
    "tester/program/test_program.py",
    "tester/program/test_replay_file.py",
)
"""Files and folders for a first look (``-m quick``): a part of every package, little of it compiled
or in processes of its own."""


def opt_in(item: pytest.Item) -> bool:
    """Whether it has a marker that pyproject.toml says to opt in with."""
    markers = [line.partition(":") for line in item.config.getini("markers")]
    named = (name for name, _, about in markers if "opt in with" in about)
    return any(item.get_closest_marker(name) for name in named)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        place = item.path.relative_to(TESTS).as_posix()
        quick = any(place == each or place.startswith(f"{each}/") for each in QUICK)
        if quick and not opt_in(item):
            item.add_marker(pytest.mark.quick)


class Part:
    """``--part``: every ``step``-th of the tests that markers leave, from the ``first``."""

    def __init__(self, first: int, step: int) -> None:
        self.first, self.step = first, step

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        others = [item for n, item in enumerate(items) if n % self.step != self.first]
        config.hook.pytest_deselected(items=others)
        items[:] = items[self.first :: self.step]


def pytest_configure(config: pytest.Config) -> None:
    if part := config.getoption("--part"):
        first, _, step = part.partition("/")
        if not (first.isdecimal() and step.isdecimal() and int(first) < int(step)):
            raise pytest.UsageError(f"--part {part}: K/N with 0 <= K < N is allowed")
        config.pluginmanager.register(Part(int(first), int(step)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting makes lives to the end: the garbage collector need not look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is not opt-in runs for milliseconds: to optimise takes longer than it saves."""
    if not any(map(opt_in, session.items)):
        os.environ.setdefault("SLICC_CXXFLAGS", CHECKED)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files")
    parser.addoption("--part", metavar="K/N", help="every N-th test from the K-th (0 to N-1)")
    parser.addoption("--gem5-root", metavar="DIR", help="a gem5 v24.0 checkout, for -m gem5")
    parser.addoption("--schemas", metavar="DIR", help="published schemas, for -m published")


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
