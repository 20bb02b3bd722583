"""A TLB against a list in order of use."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu.memory.virtual.page_table import Entry
from gpu.memory.virtual.tlb import Tlb


@given(st.lists(st.tuples(st.integers(8, 9), st.integers(0, 5), st.booleans()), max_size=60))
def test_the_least_recently_used_page_is_given_up(uses: list[tuple[int, int, bool]]) -> None:
    tlb = Tlb(3)
    model: list[tuple[int, int]] = []
    hits = 0
    for vmid, page, forgets in uses:
        key = (vmid, page)
        if forgets:
            tlb.forget(vmid, range(page, page + 2))
            model = [each for each in model if each not in (key, (vmid, page + 1))]
            continue
        found = tlb.find(key)
        assert (found is not None) == (key in model)
        assert found is None or found.address == page
        hits += key in model
        model = [each for each in model if each != key][-2 if key not in model else 0 :]
        tlb.keep(key, Entry(page, True, True))
        model.append(key)
        model = model[-3:]
    assert tlb.hits == hits and len(tlb) == len(model)
