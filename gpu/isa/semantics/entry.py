"""The entry of one mnemonic in the table of semantics."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from slicc.text.lazy_dataclass import dataclass

Array = npt.NDArray[Any]
"""Lanes: shape (64,), or (1,) for a value that all lanes share."""


class Environment(IntEnum):
    """Which floating-point environment an operation runs in: the index into
    `gpu.isa.wave_registers.FloatMode.environments`, whose entries `gpu.isa.fp_environment.use`
    takes."""

    ANY = 0
    """No floating-point operation whose result could depend on it."""
    SINGLE = 1
    """Rounding and denormals of 32-bit numbers."""
    DOUBLE = 2
    """Rounding and denormals of 64-bit numbers."""
    SINGLE_FLUSHED = 3
    """Rounding of 32-bit numbers, denormals flushed whatever the mode says (v_mad_f32)."""
    APPROXIMATE = 4
    """Nearest even, denormals flushed: the 32-bit functions of the transcendental unit."""
    PLAIN = 5
    """Nearest even, denormals kept: arithmetic in a wider type than the result's."""


def constant(value: float, kind: Any) -> Array:
    """A number for numpy's functions: of no dimension, which they take twice as fast as Python's
    numbers and three times as fast as one lane."""
    return np.array(value, kind)


@dataclass(frozen=True, slots=True)
class Semantics:
    """The meaning of one mnemonic as a function over lanes.

    ``function`` takes the sources in the order of the assembler's operands, then the old
    destination where the instruction reads it, then the mask where it reads one; after the wave's
    FloatMode if ``takes_mode``. Sources and result have the numpy type of their declared type
    (``operands``, ``result``); ``mask`` is bool, ``b128`` uint32 of shape (4, lanes). It returns an
    array, or with ``gives_mask`` an array and a mask. It never writes to its arguments.
    """

    function: Callable[..., Any]
    operands: tuple[str, ...]
    result: str
    gives_mask: bool = False
    environment: Environment = Environment.ANY
    takes_mode: bool = False


def define(
    function: Callable[..., Any],
    signature: str,
    environment: Environment = Environment.ANY,
    *,
    takes_mode: bool = False,
) -> Semantics:
    """A meaning from its signature: ``u32 u32 -> u32 mask``."""
    sources, results = signature.split("->")
    result, *mask = results.split()
    return Semantics(function, tuple(sources.split()), result, bool(mask), environment, takes_mode)
