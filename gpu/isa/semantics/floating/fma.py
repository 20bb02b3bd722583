"""Fused multiply-add: a * b + c rounded once, from arithmetic that rounds each step."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from gpu.isa.fp_environment import PLAIN
from gpu.isa.semantics.entry import Array, Environment, constant
from gpu.isa.semantics.floating import soft_float
from gpu.isa.wave_registers import FloatMode

_DROPPED: Final = constant(0x1FFF_FFFF, np.uint64)
_HALFWAY: Final = constant(0x1000_0000, np.uint64)
_SMALLEST_NORMAL_32: Final = constant(2.0**-126, np.float64)
_SPLITTER: Final = constant(2.0**27 + 1, np.float64)
_SMALL: Final = constant(2.0**-900, np.float64)
_ZERO: Final = constant(0, np.float64)
_ONE: Final = constant(1, np.int64)
_SIGN_BIT: Final = constant(63, np.int64)


def _repaired(result: Array, wrong: Array, operands: tuple[Array, ...], environment: int) -> Array:
    exactly = partial(soft_float.fused_multiply_add, environment=environment)
    return soft_float.repaired(result, wrong, exactly, *operands)


def fused_32(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    """In 64 bits the product is exact, so there are two roundings: of the sum to 64 bits, then to
    32. The directed ones compose; to nearest, two differ from one only where the first result
    lies half-way between two 32-bit numbers, or where these are denormal and so less dense."""
    wide = np.multiply(a.astype(np.float64), b.astype(np.float64))
    total = np.add(wide, c.astype(np.float64))
    result = total.astype(np.float32)
    environment = mode.environments[Environment.SINGLE]
    if environment & 3 == 0:
        doubtful = np.equal(np.bitwise_and(total.view(np.uint64), _DROPPED), _HALFWAY)
        if environment & 8:
            size = np.absolute(total)
            doubtful |= np.less(size, _SMALLEST_NORMAL_32) & np.greater(size, 0)
        if 1 in doubtful.tobytes():
            return _repaired(result, doubtful, (a, b, c), environment)
    return result


def fused_16(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    """In 64 bits the product is exact; the sum is unless the addends are far apart."""
    environment = mode.environments[Environment.DOUBLE]
    if environment != PLAIN:
        return soft_float.fused_multiply_add(a, b, c, environment)
    product = np.multiply(a.astype(np.float64), b.astype(np.float64))
    total, error = two_sum(product, c.astype(np.float64))
    return odd(total, error).astype(np.float16)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum and its error, which is a number (Knuth, TAOCP 4.2.2 theorem B)."""
    total = np.add(a, b)
    part = np.subtract(total, a)
    error = np.add(np.subtract(a, np.subtract(total, part)), np.subtract(b, part))
    return total, error


def odd(total: Array, error: Array) -> Array:
    """The sum rounded to odd: towards zero, with the last bit set if anything was dropped."""
    bits = total.view(np.int64)
    inexact = np.greater(np.absolute(error), _ZERO)
    opposed = np.right_shift(np.bitwise_xor(bits, error.view(np.int64)), _SIGN_BIT)
    even = np.bitwise_and(np.invert(bits), inexact)
    step = np.multiply(np.bitwise_or(opposed, _ONE), even)
    return np.add(bits, step).view(np.float64)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its error (Dekker's splitting)."""
    factors = np.empty((2, max(len(a), len(b))))
    factors[0] = a
    factors[1] = b
    scaled = np.multiply(factors, _SPLITTER)
    high = np.subtract(scaled, np.subtract(scaled, factors))
    low = np.subtract(factors, high)
    product = np.multiply(a, b)
    crossed = np.multiply(high, low[::-1])
    error = np.subtract(np.multiply(high[0], high[1]), product)
    error = np.add(np.add(error, crossed[0]), crossed[1])
    return product, np.add(error, np.multiply(low[0], low[1]))


def fused_64(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    """Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
    rounding to odd" (2008), where nothing comes near the ends of the range: the error of a small
    product is no number, and what overflows leaves no finite result."""
    environment = mode.environments[Environment.DOUBLE]
    if environment != PLAIN:
        return soft_float.fused_multiply_add(a, b, c, environment)
    product, product_error = _two_product(a, b)
    high, low = two_sum(c, product_error)
    head, tail = two_sum(product, high)
    result = np.add(head, odd(*two_sum(low, tail)))
    safe = np.logical_and(np.greater(np.absolute(product), _SMALL), np.isfinite(result))
    if 0 not in safe.tobytes():
        return result
    simple = np.logical_or(np.equal(a, 0), np.equal(b, 0))
    simple |= np.logical_not(np.logical_and(np.isfinite(a), np.isfinite(b)))
    result = np.where(simple, np.add(product, c), result)
    wrong = np.logical_not(np.logical_or(safe, simple))
    return _repaired(result, wrong, (a, b, c), environment) if 1 in wrong.tobytes() else result
