"""Which face of a cube a direction meets, and where: the instructions of cube maps.

x, y and z are the three sources. The face is that of the coordinate of the largest size; of two
that are as large, z goes before y and y before x. A NaN is as large as nothing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, constant, define

_ZERO, _TWO = constant(0, np.float32), constant(2, np.float32)
_FACES: Final = tuple(constant(face, np.float32) for face in range(6))


def _by_axis(x: Array, y: Array, z: Array, of_x: Array, of_y: Array, of_z: Array) -> Array:
    """What belongs to the axis that the direction is closest to."""
    wide, high, deep = np.absolute(x), np.absolute(y), np.absolute(z)
    along_z = np.logical_and(np.greater_equal(deep, wide), np.greater_equal(deep, high))
    return np.where(along_z, of_z, np.where(np.greater_equal(high, wide), of_y, of_x))


def _turned(value: Array, by: Array) -> Array:
    """The value, with the other sign where ``by`` is negative."""
    return np.where(np.less(by, _ZERO), np.negative(value), value)


def _face(x: Array, y: Array, z: Array) -> Array:
    """0 and 1 are those of x, 2 and 3 of y, 4 and 5 of z; the odd ones of negative coordinates."""
    of_x, of_y, of_z = (
        np.where(np.less(each, _ZERO), _FACES[2 * axis + 1], _FACES[2 * axis])
        for axis, each in enumerate((x, y, z))
    )
    return _by_axis(x, y, z, of_x, of_y, of_z)


def _across(x: Array, y: Array, z: Array) -> Array:
    return _by_axis(x, y, z, _turned(np.negative(z), x), x, _turned(x, z))


def _down(x: Array, y: Array, z: Array) -> Array:
    minus_y = np.negative(y)
    return _by_axis(x, y, z, minus_y, _turned(z, y), minus_y)


def _twice_the_largest(x: Array, y: Array, z: Array) -> Array:
    return np.multiply(_by_axis(x, y, z, x, y, z), _TWO)


SEMANTICS: Final[dict[str, Semantics]] = {
    f"v_cube{name}_f32": define(function, "f32 f32 f32 -> f32", Environment.SINGLE)
    for name, function in (
        ("id", _face),
        ("sc", _across),
        ("tc", _down),
        ("ma", _twice_the_largest),
    )
}
