"""Where in the protocol an error happened.

Invariant: nothing is recorded while a controller runs; all context is read from the traceback
of the error, so a run without errors pays nothing for good reports.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from runtime.controller.base import ControllerBase
from runtime.errors import (
    ErrorKind,
    ProtocolError,
    as_verdict,
    frames_of,
    source_location,
)


def _package_of(module: str) -> Path:
    """The directory that holds a module: generated code is recognised by it."""
    return Path(sys.modules[module].__file__ or "").parent


def _was_given_null(frame: FrameType) -> bool:
    """Whether some argument of the call that runs in ``frame`` was None."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount]
    return any(frame.f_locals.get(name, 0) is None for name in names)


def explain(controller: ControllerBase, error: Exception) -> Exception:
    """The error to raise for ``error``: a verdict with context, or ``error`` itself.

    An error is the protocol's if generated code raised it, or handed a null pointer to the
    function of the runtime that stumbled over it.
    """
    package = _package_of(type(controller).__module__)
    frames = frames_of(error.__traceback__)
    generated = [f for f in frames if Path(f.tb_frame.f_code.co_filename).parent == package]
    verdict: ProtocolError | None
    if isinstance(error, ProtocolError):
        verdict = error
    elif not generated:
        verdict = None
    elif generated[-1] is frames[-1]:
        verdict = as_verdict(error)
    elif generated[-1] is frames[-2] and _was_given_null(frames[-1].tb_frame):
        verdict = as_verdict(error)
        if verdict is not None and verdict.kind is not ErrorKind.NULL_DEREFERENCE:
            verdict = None
    else:
        verdict = None
    if verdict is None:
        return error
    _fill(verdict, controller, frames, generated)
    return verdict


def _fill(
    verdict: ProtocolError,
    controller: ControllerBase,
    frames: list[TracebackType],
    generated: list[TracebackType],
) -> None:
    """Add what is not known yet."""
    if verdict.machine is not None:
        return
    verdict.machine = controller.MACHINE
    verdict.version = controller.version
    verdict.tick = controller.engine.now
    if generated:
        last = generated[-1]
        verdict.location = source_location(Path(last.tb_frame.f_code.co_filename), last.tb_lineno)
    for position, frame in enumerate(frames):
        if frame.tb_frame.f_code.co_name == "trigger":
            variables = frame.tb_frame.f_locals
            verdict.address = variables["address"]
            verdict.event = controller.EVENTS.name_of(variables["event"])
            if "state" in variables:
                verdict.state = controller.STATES.name_of(variables["state"])
            generated = [each for each in frames[position:] if each in generated]
            break
    if generated:
        # The outermost frame of the protocol's text is the action, function or port.
        verdict.action = generated[0].tb_frame.f_code.co_name


def port_location(kind: type, action: str) -> str | None:
    """Where the protocol declares the port whose body is the function of that name."""
    code = getattr(getattr(kind, action, None), "__code__", None)
    return None if code is None else source_location(Path(code.co_filename), code.co_firstlineno)


_LOCATIONS: dict[tuple[type, int, int], str] = {}


def transition_location(kind: type, state: int, event: int) -> str:
    """``MI-cache.sm:464``: where the protocol declares a transition; empty when unknown."""
    known = _LOCATIONS.get((kind, state, event))
    if known is None:
        known = _LOCATIONS[kind, state, event] = _find_transition(kind, state, event)
    return known


def _find_transition(kind: type, state: int, event: int) -> str:
    """Look the row up in the generated text, and its line in the package's line map."""
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    if file is None:
        return ""
    states: Any = getattr(kind, "STATES", None)
    events: Any = getattr(kind, "EVENTS", None)
    row = f"(State.{states.name_of(state)}, Event.{events.name_of(event)}):"
    for number, text in enumerate(_lines(file), 1):
        if text.lstrip().startswith(row):
            found = source_location(Path(file), number)
            return "" if found.startswith(Path(file).name) else found
    return ""


@lru_cache(maxsize=64)
def _lines(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(encoding="utf-8").splitlines())
    except OSError:
        return ()
