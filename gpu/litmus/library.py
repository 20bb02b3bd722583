"""The litmus tests that are shipped.

A name is that of its file without ``.litmus``. Invariant: names come sorted.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gpu.litmus.scenario import Test, read_test
from slicc.scenario_text.parser import parse_scenario
from slicc.source import SourceFile

_FOLDER = "gpu.litmus.shipped"
SUFFIX = ".litmus"


@cache
def names() -> tuple[str, ...]:
    """The names of all tests."""
    found = (each.name for each in files(_FOLDER).iterdir() if each.name.endswith(SUFFIX))
    return tuple(sorted(name.removesuffix(SUFFIX) for name in found))


def shipped(name: str) -> Test:
    """One of `names`."""
    text = files(_FOLDER).joinpath(name + SUFFIX).read_text()
    return read_test(parse_scenario(SourceFile(name + SUFFIX, text)))
