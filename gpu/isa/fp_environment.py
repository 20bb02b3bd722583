"""The floating-point environment of the machine this program runs on.

A wave's float mode names one of four roundings and whether denormal numbers are flushed where they
enter and leave an operation. x86-64 has the same choices in its control register, and the vector
loops of numpy obey it; so an addition that flushes denormals costs no more than any other.
``fesetenv`` of the C library loads the register; `use` does so when another environment is wanted
than the last one.

An environment is a number: rounding (as in MODE: 0 nearest even, 1 up, 2 down, 3 to zero) plus 4
times the denormal field (0 flush in and out, 1 flush results, 2 flush sources, 3 keep).

Invariant: ``current`` is what this thread's control register says; a program starts in `PLAIN`, and
code that runs instructions restores it (`plain_afterwards`). One thread at a time runs them. Where
the register cannot be loaded, `AVAILABLE` is false, and `gpu.isa.semantics` is built of functions
that round by themselves.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

PLAIN: Final = 12
"""Nearest even, denormals kept: what Python and numpy expect."""
FLUSHING: Final = 0
"""Nearest even, denormals flushed in and out."""

_ROUNDING_CONTROL: Final = (0x0000, 0x4000, 0x2000, 0x6000)
_ALL_MASKED: Final = 0x1F80
_FLUSH_RESULTS: Final = 0x8000
_FLUSH_SOURCES: Final = 0x0040

current = PLAIN


class _Environment(ctypes.Structure):
    """glibc's fenv_t on x86-64: the x87 environment, then MXCSR."""

    _fields_ = [("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32)]


def control_word(environment: int) -> int:
    """MXCSR for an environment (Intel SDM volume 1, section 10.2.3)."""
    word = _ALL_MASKED | _ROUNDING_CONTROL[environment & 3]
    if not environment & 8:
        word |= _FLUSH_RESULTS
    if not environment & 4:
        word |= _FLUSH_SOURCES
    return word


def _loader() -> tuple[Callable[[int], object], tuple[_Environment, ...]] | None:
    """The function that loads an environment, and the sixteen environments; None on other
    machines."""
    if platform.machine() not in ("x86_64", "AMD64") or not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.PyDLL("libm.so.6")
        load, store = library.fesetenv, library.fegetenv
    except (OSError, AttributeError):
        return None
    load.argtypes = [ctypes.c_void_p]
    load.restype = None
    environments = tuple(_Environment() for _ in range(16))
    for number, environment in enumerate(environments):
        store(ctypes.byref(environment))
        environment.mxcsr = control_word(number)
    return load, environments


def _obeyed(load: Callable[[int], object], addresses: tuple[int, ...]) -> bool:
    """Whether numpy's loops obey the loaded environment: rounding, sources and results, both
    widths."""
    obeyed = True
    for kind, denormal in ((np.dtype(np.float32), 1e-40), (np.dtype(np.float64), 1e-310)):
        one, three = np.ones(64, kind), np.full(64, 3, kind)
        least = np.full(64, np.finfo(kind).smallest_normal, kind)
        source = np.full(64, denormal, kind)
        half = np.full(64, 0.5, kind)
        thirds = []
        for environment, address in enumerate(addresses):
            load(address)
            third = np.divide(one, three)
            result, kept = np.multiply(least, half), np.multiply(source, one)
            load(addresses[PLAIN])
            thirds.append(third[0])
            obeyed &= bool((result != 0).all()) == (environment & 8 > 0)
            obeyed &= bool((kept != 0).all()) == (environment & 12 == 12)
        obeyed &= thirds[1] > thirds[2] == thirds[3]
    return obeyed


def _nothing(environment: int) -> None:
    """A switch for machines without such environments."""


_loaded = _loader()
if _loaded is not None:
    _load, _environments = _loaded
    _addresses = tuple(ctypes.addressof(environment) for environment in _environments)
    AVAILABLE = _obeyed(_load, _addresses)
else:
    AVAILABLE = False


if AVAILABLE:

    def use(environment: int) -> None:
        """Make this the environment of the calling thread, if it is another than the last."""
        global current
        if environment != current:
            _load(_addresses[environment])
            current = environment

else:
    use = _nothing


@contextmanager
def plain_afterwards() -> Iterator[None]:
    """Run instructions: no warnings from numpy, and at the end the environment it expects."""
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        use(PLAIN)
