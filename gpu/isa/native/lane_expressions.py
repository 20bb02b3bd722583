"""The functions of `gpu.isa.semantics` as C++ expressions of one lane.

A meaning is a function that calls numpy for all lanes. Here it is called once with `Lanes` that
stand for arrays: each operation of numpy on them becomes one line of C++, so that the table of
meanings is the only place where they are written. A function that looks at values (to take a
shorter way, or by the wave's mode), indexes tables or uses an operation that cpp/lanes.hpp does not
have is `Untraceable` and stays in Python.

Invariant: a line has the result that numpy has for the same types, which
tests/gpu/isa/native compares for every traceable meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gpu.isa.operand_types import TYPES
from gpu.isa.semantics.entry import Semantics
from gpu.wave_size import LANES

TYPE_NAMES: Final[dict[np.dtype[Any], str]] = {
    np.dtype(kind): name
    for name, kind in {
        "bool": np.bool_,
        "u8": np.uint8,
        "i8": np.int8,
        "u16": np.uint16,
        "i16": np.int16,
        "u32": np.uint32,
        "i32": np.int32,
        "u64": np.uint64,
        "i64": np.int64,
        "f32": np.float32,
        "f64": np.float64,
    }.items()
}
"""The C++ types of lanes; there is none of 16-bit floating-point numbers."""

_OF_ALL_TYPES: Final = (
    np.add, np.subtract, np.multiply, np.negative, np.absolute, np.bitwise_and, np.bitwise_or,
    np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.equal, np.not_equal, np.less,
    np.less_equal, np.greater, np.greater_equal, np.logical_and, np.logical_or, np.logical_not,
    np.isnan, np.sqrt,
)  # fmt: skip
_OF_INTEGERS: Final = (np.minimum, np.maximum)
"""What cpp/lanes.hpp has, under numpy's names."""


class Untraceable(Exception):
    """A meaning that is no expression of one lane."""


class Trace:
    """The lines of one function. Each names its value ``t`` and a number."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def value(self, dtype: Any, text: str) -> Lanes:
        """A line that computes this expression."""
        kind = np.dtype(dtype)
        if kind not in TYPE_NAMES:
            raise Untraceable(f"lanes of {kind}")
        name = f"t{len(self.lines)}"
        self.lines.append(f"const {TYPE_NAMES[kind]} {name} = {text};")
        return Lanes(self, kind, name)

    def text(self, value: Any, dtype: np.dtype[Any]) -> str:
        """An operand converted to a type as numpy converts it."""
        if isinstance(value, Lanes):
            if value.dtype == dtype:
                return value.name
            return f"static_cast<{TYPE_NAMES[dtype]}>({value.name})"
        numbers = np.asarray(value).astype(dtype).reshape(-1)
        if numbers.size != 1:
            raise Untraceable("a constant of several lanes")
        if dtype.kind == "f":
            bits = np.dtype(f"u{dtype.itemsize}")
            number = f"{int(numbers.view(bits)[0])}u" if dtype.itemsize == 4 else ""
            number = number or f"{int(numbers.view(bits)[0])}ull"
            return f"bits_as<{TYPE_NAMES[dtype]}>({TYPE_NAMES[bits]}({number}))"
        return f"{TYPE_NAMES[dtype]}({int(numbers[0])}{'ull' if dtype.kind == 'u' else 'll'})"


class _Halves:
    """Lanes of 64 bits seen as twice as many of 32: ``[::2]`` are the low ones."""

    def __init__(self, lanes: Lanes, dtype: np.dtype[Any]) -> None:
        self._lanes = lanes
        self._dtype = dtype

    def __getitem__(self, place: slice) -> Lanes:
        if (place.start, place.stop, place.step) == (1, None, 2):
            text = f"static_cast<u64>({self._lanes.name}) >> 32"
        elif (place.start, place.stop, place.step) == (None, None, 2):
            text = self._lanes.name
        else:
            raise Untraceable(f"lanes {place}")
        return self._lanes.trace.value(
            self._dtype, f"static_cast<{TYPE_NAMES[self._dtype]}>({text})"
        )


class Lanes(NDArrayOperatorsMixin):
    """A value of every lane while a meaning is traced."""

    shape = (LANES,)
    ndim = 1

    def __init__(self, trace: Trace, dtype: Any, name: str) -> None:
        self.trace = trace
        self.dtype = np.dtype(dtype)
        self.name = name

    def __len__(self) -> int:
        return LANES

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        raise Untraceable("an array whose values are used")

    def __bool__(self) -> bool:
        raise Untraceable("a condition on values")

    def __getitem__(self, place: object) -> Any:
        raise Untraceable("some of the lanes")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # numpy looks for what it can do without
            raise AttributeError(name)
        raise Untraceable(name)

    def tobytes(self) -> bytes:
        """A mask is not all zeros, for which there may be a shorter way to the same result."""
        if self.dtype != np.bool_:
            raise Untraceable("a condition on values")
        return bytes((0, 1))

    def copy(self) -> Lanes:
        return Lanes(self.trace, self.dtype, self.name)

    def astype(self, dtype: Any) -> Lanes:
        kind = np.dtype(dtype)
        if self.dtype.kind == "f" and kind.kind != "f":
            raise Untraceable("a conversion that C++ leaves undefined out of range")
        if kind not in TYPE_NAMES:
            raise Untraceable(f"lanes of {kind}")
        return self.trace.value(kind, self.trace.text(self, kind))

    def view(self, dtype: Any) -> Any:
        kind = np.dtype(dtype)
        if kind not in TYPE_NAMES:
            raise Untraceable(f"lanes of {kind}")
        if (self.dtype.itemsize, kind.itemsize) == (8, 4):
            return _Halves(self, kind)
        if self.dtype.itemsize != kind.itemsize:
            raise Untraceable(f"lanes of {self.dtype} as {kind}")
        if kind == self.dtype:
            return self
        return self.trace.value(kind, f"bits_as<{TYPE_NAMES[kind]}>({self.name})")

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **named: Any) -> Lanes:
        dtype, out = named.pop("dtype", None), named.pop("out", None)
        if method != "__call__" or named or function.nout != 1:
            raise Untraceable(f"{function.__name__}.{method} {named}")
        signature = None if dtype is None else (*[None] * function.nin, np.dtype(dtype))
        types = (*map(_type_of, inputs), None)
        if signature is None:
            *sources, result = function.resolve_dtypes(types)
        else:
            *sources, result = function.resolve_dtypes(types, signature=signature)
        integers = all(kind.kind != "f" for kind in sources)
        if function not in _OF_ALL_TYPES and not (function in _OF_INTEGERS and integers):
            raise Untraceable(function.__name__)
        if result not in TYPE_NAMES or any(kind not in TYPE_NAMES for kind in sources):
            raise Untraceable(f"{function.__name__} of {sources}")
        name = function.__name__
        given = ", ".join(self.trace.text(each, kind) for each, kind in zip(inputs, sources))
        made = self.trace.value(result, f"{name}({given})")
        return made if out is None else made.astype(out[0].dtype)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, named: Any
    ) -> Any:
        if function is np.where and not named:
            condition, first, second = arguments
            kind = np.result_type(_type_of(first), _type_of(second))
            test = self.trace.text(condition, np.dtype(np.bool_))
            one, other = self.trace.text(first, kind), self.trace.text(second, kind)
            return self.trace.value(kind, f"{test} ? {one} : {other}")
        if function is np.putmask and not named:
            into, mask, value = arguments
            chosen = np.where(mask, value, into)
            into.name = chosen.name
            return None
        raise Untraceable(function.__name__)


def _type_of(value: Any) -> Any:
    """For numpy's rules of promotion, in which Python's own numbers have no width."""
    if isinstance(value, bool):
        return np.dtype(np.bool_)
    if isinstance(value, (int, float)):
        return int if isinstance(value, int) else float
    if not isinstance(value, (Lanes, np.ndarray, np.generic)):
        raise Untraceable(f"an operand of type {type(value).__name__}")
    return value.dtype


def lines_of(semantics: Semantics) -> tuple[str, ...]:
    """A meaning as lines of C++: sources are ``a``, ``b``, ``c`` in their types, ``in`` is whether
    the lane's bit of the mask is set that it reads; it ends by setting ``result`` and, if it gives
    one, ``out``. Raises `Untraceable`.
    """
    trace = Trace()
    if semantics.takes_mode:
        raise Untraceable("what it does depends on the mode")
    names = iter("abc")
    sources = [
        Lanes(trace, np.bool_, "in") if type == "mask" else _source(trace, type, next(names))
        for type in semantics.operands
    ]
    results = semantics.function(*sources)
    if not isinstance(results, tuple):
        results = (results,)
    if not all(isinstance(each, Lanes) for each in results):
        raise Untraceable("a result that does not depend on lanes")
    if semantics.result == "mask":
        return (*trace.lines, f"out = {results[0].name};")
    kind = TYPES[semantics.result].dtype
    if kind is None or results[0].dtype.itemsize != np.dtype(kind).itemsize:
        raise Untraceable(f"a result of type {semantics.result}")
    ends = [f"result = bits_as<u{TYPES[semantics.result].bits}>({results[0].name});"]
    if semantics.gives_mask:
        ends.append(f"out = {results[1].name};")
    return (*trace.lines, *ends)


def _source(trace: Trace, type: str, name: str) -> Lanes:
    dtype = TYPES[type].dtype
    if dtype is None or np.dtype(dtype) not in TYPE_NAMES:
        raise Untraceable(f"a source of type {type}")
    return Lanes(trace, dtype, name)
