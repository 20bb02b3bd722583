"""Single writer: a cache that keeps its line when another gets it is found; sound ones are not."""

from __future__ import annotations

import pytest

from protocols import shipped
from slicc import ir
from slicc.analysis.reachable import reachable, walked
from slicc.compiler import compile
from slicc.diagnostics.model import Diagnostic
from tests.slicc.analysis.edits import staying, with_machine


def writers(protocol: ir.Protocol) -> list[Diagnostic]:
    return [found for found in reachable(protocol, walked(protocol, 1_000)) if found.slug == SLUG]


SLUG = "two-writers"


def test_a_cache_that_keeps_what_it_forwards_is_the_cause() -> None:
    protocol = compile(shipped()["MSI"]).protocol
    machine, span = staying(protocol, "L1Cache", "M", "FwdGetM")
    (found,) = writers(with_machine(protocol, machine))
    assert found.primary.span == span
    assert [label.span.text.split(",")[0] for label in found.secondary] == ["M"]


@pytest.mark.parametrize("name", ["MSI", "MI"])
def test_one_cache_at_a_time_writes(name: str) -> None:
    assert writers(compile(shipped()[name]).protocol) == []
