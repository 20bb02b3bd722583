"""Random integers: scalar equals numpy, forks are independent, values never change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.prng import (
    Prng,
    hash64,
    hash_name,
    initial_byte,
    initial_bytes,
    mix64,
    mix64_array,
)
from runtime.structures.main_memory import initial_line


@given(st.integers(0, 2**64 - 1), st.integers(1, 2**32), st.integers(0, 40))
def test_arrays_continue_where_scalars_stop(seed: int, limit: int, count: int) -> None:
    scalar, vector = Prng(seed), Prng(seed)
    expected = [scalar.bits64() for _ in range(count)] + [scalar.below(limit) for _ in range(count)]
    got = vector.bits64_array(count).tolist() + vector.below_array(limit, count).tolist()
    assert got == expected
    assert scalar.bits64() == vector.bits64()


@given(st.lists(st.integers(0, 2**64 - 1), max_size=20))
def test_mixing(values: list[int]) -> None:
    mixed = mix64_array(np.array(values, dtype=np.uint64)).tolist()
    assert mixed == [mix64(value) for value in values]


@given(st.text(max_size=20))
def test_a_name_is_hashed_as_its_bytes(name: str) -> None:
    assert hash_name(name) == hash64(*name.encode())


def test_forks_do_not_depend_on_draws() -> None:
    one, two = Prng(7), Prng(7)
    one.bits64()
    assert one.fork("network").bits64() == two.fork("network").bits64()
    assert two.fork("network").bits64() != two.fork("memory").bits64()
    assert two.fork("a").fork("b").bits64() != two.fork("b").fork("a").bits64()


def test_values_are_what_they_always_were() -> None:
    """A change here breaks every stored seed."""
    prng = Prng(1)
    assert [prng.bits64() for _ in range(3)] == [
        0x5E41AB087439611E,
        0xF18D6CE93D6CF1EE,
        0xB95F66D327E8D78,
    ]
    assert hash64(1, 2, 3) == 0xB23BBC8ED89DE9B3
    assert hash_name("network") == 0xB3E97739DC8676C6
    assert initial_line(5, 0x40) & 0xFFFF == 0xFF55


def test_below_is_even() -> None:
    counts = np.bincount(Prng(3).below_array(10, 20_000), minlength=10)
    assert counts.min() > 1800
    assert counts.max() < 2200


@pytest.mark.parametrize("limit", [0, -1, 2**32 + 1])
def test_impossible_limits(limit: int) -> None:
    with pytest.raises(ValueError, match=r"limit from 1 to 2\*\*32"):
        Prng(0).below(limit)
    with pytest.raises(ValueError, match=r"limit from 1 to 2\*\*32"):
        Prng(0).below_array(limit, 1)


@given(st.integers(0, 2**40), st.integers(0, 2**50))
def test_memory_starts_the_same_by_byte_and_by_line(run_key: int, address: int) -> None:
    line = address & ~63
    whole = initial_line(run_key, line).to_bytes(64, "little")
    assert whole[address - line] == initial_byte(run_key, address)
    addresses = np.arange(line, line + 64, dtype=np.int64).reshape(8, 8)
    assert initial_bytes(run_key, addresses).tobytes() == whole
