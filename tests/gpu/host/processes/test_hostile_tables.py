"""Page tables with anything in them: a process fails in words, and the others go on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu.errors import GpuError
from gpu.host.processes.process import Process
from gpu.memory.address_space import PAGE, Unmapped
from gpu.memory.virtual.page_table import LEVELS, READABLE, VALID, WRITEABLE, Entry, place
from tests.gpu.host.devices import EACH, MakeDevice, with_pipelines, without_time
from tests.gpu.host.processes.test_process import X, added


def entries_of(process: Process, address: int) -> list[int]:
    """Where the entries for an address lie in memory, the highest first."""
    found, table = [], process.space.root
    for level in reversed(range(LEVELS)):
        found.append(place(table, address, level))
        word = int.from_bytes(process.machine.memory.read(found[-1], 8), "little")
        table = Entry.unpack(word, level).address if level else 0
    return found


def write(process: Process, where: int, word: int) -> None:
    process.machine.memory.write(where, word.to_bytes(8, "little"))
    process.forget_translations()


WORDS = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.builds(
        lambda page, flags: page * PAGE | flags | VALID,
        st.integers(0, (1 << 36) - 1) | st.integers(1 << 20, (1 << 20) + 300),
        st.sampled_from([0, READABLE, WRITEABLE, READABLE | WRITEABLE]),
    ),
)


@settings(max_examples=10, deadline=None)
@given(st.sampled_from([without_time, with_pipelines]), st.data())
def test_any_words_in_tables(make: MakeDevice, data: st.DataObject) -> None:
    device = make()
    bad, good = device.create_process(), device.create_process()
    a, c = bad.alloc(X), bad.alloc_like(X)
    bad.run(until=added(bad, a, a, c))
    places = [*entries_of(bad, a.address), *entries_of(bad, c.address)]
    places += entries_of(bad, bad.queues[0].address)
    for where in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        write(bad, where, data.draw(WORDS))
    try:
        bad.run(until=added(bad, a, a, c), limit=20_000)
        c.numpy()
    except (GpuError, Unmapped) as error:
        assert "address" in str(error) or "signal" in str(error), error
    b, d = good.alloc(X), good.alloc_like(X)
    bad.end()
    good.run(until=added(good, b, b, d))
    np.testing.assert_array_equal(d.numpy(), 2 * X)


@EACH
@pytest.mark.parametrize(
    ("word", "why"),
    [
        (0, "its entry in the page table of level 0 is not valid"),
        (VALID | 1 << 60 | 1 << 32, "has reserved bits"),
        (VALID | READABLE | 5 << 44, "nothing is mapped there"),
        (VALID | WRITEABLE | 1 << 32, "its page may not be read"),
    ],
)
def test_a_bad_entry_of_a_page(make: MakeDevice, word: int, why: str) -> None:
    device = make()
    process = device.create_process()
    a, c = process.alloc(X), process.alloc_like(X)
    process.run(until=added(process, a, a, c))
    write(process, entries_of(process, a.address)[-1], word)
    with pytest.raises(GpuError, match=why):
        process.run(until=added(process, a, a, c, 64))


@EACH
def test_a_table_that_is_not_in_memory(make: MakeDevice) -> None:
    device = make()
    process = device.create_process()
    a = process.alloc(X)
    process.run(until=added(process, a, a, a))
    write(process, entries_of(process, a.address)[1], VALID | 5 << 44)
    with pytest.raises((GpuError, Unmapped), match="a page table cannot be read"):
        process.run(until=added(process, a, a, a))


@EACH
def test_the_same_page_twice_and_pages_in_another_order(make: MakeDevice) -> None:
    """Tables are the truth: what they say is where kernels read and write."""
    device = make()
    process = device.create_process()
    a, c = process.alloc(X), process.alloc_like(X)
    process.run(until=added(process, a, a, c))
    first, second = (entries_of(process, a.address + page * PAGE)[-1] for page in (0, 1))
    words = [process.machine.memory.read(where, 8) for where in (first, second)]
    write(process, first, int.from_bytes(words[1], "little"))
    write(process, second, int.from_bytes(words[0], "little"))
    swapped = X.copy()
    lanes = PAGE // 4
    swapped[:lanes], swapped[lanes : 2 * lanes] = X[lanes : 2 * lanes], X[:lanes]
    process.run(until=added(process, a, a, c))
    np.testing.assert_array_equal(a.numpy(), swapped)
    np.testing.assert_array_equal(c.numpy(), 2 * swapped)
