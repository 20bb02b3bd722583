"""Status codes of the core runtime, and what each of them means.

D2 gives names and signs and, but for success, no numbers; those here are this project's. Codes
from `FIRST_OF_OURS` down are its own, for errors of queues, which D2 leaves to implementations.

Invariant: 0 is success, information is positive, errors are negative, and every code has a text.
Source: HSA Core API Programmer's Reference Manual, draft 0.170, sections 2.1.1 and 2.1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import cached_property, wraps
from inspect import signature
from types import UnionType
from typing import (
    Any,
    Concatenate,
    Final,
    ParamSpec,
    Protocol,
    SupportsIndex,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from gpu.errors import GpuError, KernelError, PacketError, QueueError

FIRST_OF_OURS: Final = -64


class Status(IntEnum):
    """The result of a call, or the type of an asynchronous error."""

    SUCCESS = 0
    NONE = 1
    INFO_ALREADY_INITIALIZED = 2
    INFO_SIGNAL_TIMEOUT = 3
    INFO_NOT_REGISTERED = 4
    INFO_NO_SYMBOLS_BOUND = 5
    ERROR = -1
    ERROR_INVALID_ARGUMENT = -2
    ERROR_NOT_INITIALIZED = -3
    ERROR_OUT_OF_RESOURCES = -4
    ERROR_CONTEXT_NULL = -5
    ERROR_SIGNAL_NOT_BOUND = -6
    ERROR_RESOURCE_FREE = -7
    ERROR_PACKET = FIRST_OF_OURS
    ERROR_QUEUE = FIRST_OF_OURS - 1
    ERROR_KERNEL = FIRST_OF_OURS - 2


_TEXTS: Final = {
    Status.SUCCESS: "the call did what it is for",
    Status.NONE: "nothing more is known about this status",
    Status.INFO_ALREADY_INITIALIZED: "the runtime was open already; its context is returned",
    Status.INFO_SIGNAL_TIMEOUT: "the signal did not meet the condition in the time of a wait",
    Status.INFO_NOT_REGISTERED: "no registration begins at this address",
    Status.INFO_NO_SYMBOLS_BOUND: "none of the symbols was unbound in the code object",
    Status.ERROR: "the signal has a negative value: what it stands for has failed",
    Status.ERROR_INVALID_ARGUMENT: "an argument is null, out of range, or names nothing there is",
    Status.ERROR_NOT_INITIALIZED: "the runtime is not open, or the context was released",
    Status.ERROR_OUT_OF_RESOURCES: "no doorbell, address or memory is left",
    Status.ERROR_CONTEXT_NULL: "the context is null",
    Status.ERROR_SIGNAL_NOT_BOUND: "the signal is not bound to this context",
    Status.ERROR_RESOURCE_FREE: "something made by the runtime is still in use",
    Status.ERROR_PACKET: "a packet breaks a rule; it completed with an error",
    Status.ERROR_QUEUE: "a queue's bytes are no packet, or its indices or memory are not usable",
    Status.ERROR_KERNEL: "a wave stopped its kernel: a trap, a fault, an unknown instruction",
}


def describe(status: int) -> str | None:
    """The text of a code, in ASCII; None for a number that is none."""
    return _TEXTS.get(Status(status)) if status in _NUMBERS else None


_NUMBERS: Final = frozenset(Status)


def status_of(error: GpuError) -> Status:
    """The type of what stopped a queue."""
    if isinstance(error, PacketError):
        return Status.ERROR_PACKET
    if isinstance(error, QueueError):
        return Status.ERROR_QUEUE
    return Status.ERROR_KERNEL if isinstance(error, KernelError) else Status.ERROR


# ------------------------------------------------------------------ calls that return them


class Outcome(Exception):
    """Ends a call with another status than success; ``value``: what it returns beside it."""

    def __init__(self, status: Status, value: object = None) -> None:
        super().__init__(_TEXTS[status])
        self.status = status
        self.value = value


INVALID: Final = Status.ERROR_INVALID_ARGUMENT


def need(holds: object) -> None:
    """A rule of a call's arguments. Raises Outcome."""
    if not holds:
        raise Outcome(INVALID)


class Opened(Protocol):
    """What can be open or closed."""

    @property
    def is_open(self) -> bool: ...


P = ParamSpec("P")
R = TypeVar("R", bound=Opened)
T = TypeVar("T")


def call(body: Callable[Concatenate[R, P], object]) -> Callable[Concatenate[R, P], Status]:
    """A call without output: its status. While the runtime is closed, nothing happens. An argument
    of another type than is declared breaks a rule like any other value out of range."""
    accepted = _Accepted(body)

    @wraps(body)
    def wrapped(runtime: R, /, *args: P.args, **kwargs: P.kwargs) -> Status:
        if not runtime.is_open:
            return Status.ERROR_NOT_INITIALIZED
        try:
            need(accepted(runtime, *args, **kwargs))
            body(runtime, *args, **kwargs)
        except Outcome as outcome:
            return outcome.status
        return Status.SUCCESS

    return wrapped


def call_with_output(
    body: Callable[Concatenate[R, P], T],
) -> Callable[Concatenate[R, P], tuple[Status, T | None]]:
    """A call that gives its status and an output, which is None where there is none."""
    accepted = _Accepted(body)

    @wraps(body)
    def wrapped(runtime: R, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Status, T | None]:
        if not runtime.is_open:
            return Status.ERROR_NOT_INITIALIZED, None
        try:
            need(accepted(runtime, *args, **kwargs))
            return Status.SUCCESS, body(runtime, *args, **kwargs)
        except Outcome as outcome:
            return outcome.status, outcome.value  # type: ignore[return-value]

    return wrapped


class _Accepted:
    """Whether arguments have the types that a call declares; any number that is an integer is an
    ``int``. Raises TypeError for more arguments than there are, or fewer."""

    def __init__(self, body: Callable[..., object]) -> None:
        self._body = body
        self._signature = signature(body)

    @cached_property
    def _types(self) -> dict[str, object]:
        """Resolved at the first call, when all modules are there."""
        return get_type_hints(self._body)

    def __call__(self, *args: object, **kwargs: object) -> bool:
        bound = self._signature.bind(*args, **kwargs).arguments
        return all(_is(value, self._types.get(name, object)) for name, value in bound.items())


def _is(value: object, declared: Any) -> bool:
    if isinstance(declared, UnionType):
        return any(_is(value, each) for each in get_args(declared))
    if declared is int:
        return isinstance(value, SupportsIndex)
    declared = get_origin(declared) or declared
    return callable(value) if declared is Callable else isinstance(value, declared)
