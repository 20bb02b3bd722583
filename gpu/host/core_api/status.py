"""Status codes of the core runtime, and what each of them means.

D2 gives names and signs and, but for success, no numbers; those here are this project's. Codes
from `FIRST_OF_OURS` down are its own, for errors of queues, which D2 leaves to implementations.

Invariant: 0 is success, information is positive, errors are negative, and every code has a text.
Source: HSA Core API Programmer's Reference Manual, draft 0.170, sections 2.1.1 and 2.1.2.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from functools import wraps
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

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
    """A call without output: its status. While the runtime is closed, nothing happens."""

    @wraps(body)
    def wrapped(runtime: R, /, *args: P.args, **kwargs: P.kwargs) -> Status:
        if not runtime.is_open:
            return Status.ERROR_NOT_INITIALIZED
        try:
            body(runtime, *args, **kwargs)
        except Outcome as outcome:
            return outcome.status
        return Status.SUCCESS

    return wrapped


def call_with_output(
    body: Callable[Concatenate[R, P], T],
) -> Callable[Concatenate[R, P], tuple[Status, T | None]]:
    """A call with an output: the status and the output, which is None where there is none."""

    @wraps(body)
    def wrapped(runtime: R, /, *args: P.args, **kwargs: P.kwargs) -> tuple[Status, T | None]:
        if not runtime.is_open:
            return Status.ERROR_NOT_INITIALIZED, None
        try:
            return Status.SUCCESS, body(runtime, *args, **kwargs)
        except Outcome as outcome:
            return outcome.status, outcome.value  # type: ignore[return-value]

    return wrapped
