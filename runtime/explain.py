"""Where in the protocol an error happened.

Invariant: nothing is recorded while a controller runs; all context is read from the traceback
of the error, so a run without errors pays nothing for good reports.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from runtime.errors import (
    ErrorKind,
    ProtocolError,
    as_verdict,
    frames_of,
    source_action,
    source_location,
)

if TYPE_CHECKING:
    from runtime.controller import Controller

_CELL = "_on_"
"""How the names of fused transitions begin; no name of an author does."""

_FUSED_FILE = "_fused.py"
_POLLING = "_poll_ports"
_UNDEFINED_CELL = "_undefined_cell"


def _package_of(module: str) -> Path:
    """The directory that holds a module: generated code is told apart by it."""
    return Path(sys.modules[module].__file__ or "").parent


def _was_given_null(frame: FrameType) -> bool:
    """Whether some argument of the call that runs in ``frame`` was None."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount]
    return any(frame.f_locals.get(name, 0) is None for name in names)


def explain(controller: Controller, error: Exception) -> Exception:
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
    controller: Controller,
    frames: list[TracebackType],
    generated: list[TracebackType],
) -> None:
    """Add what is not known yet."""
    if verdict.machine is not None:
        return
    verdict.machine = controller.MACHINE
    verdict.version = controller.version
    verdict.tick = controller.engine.now
    # A fused `trigger` is glue: what it was asked for stands in the frame that called it.
    written = [frame for frame in generated if frame.tb_frame.f_code.co_name != "trigger"]
    if written:
        last = written[-1]
        verdict.location = source_location(Path(last.tb_frame.f_code.co_filename), last.tb_lineno)
    for position, frame in enumerate(frames):
        found = _transition(controller, frame.tb_frame)
        if found is not None:
            address, state, event = found
            verdict.address = address
            verdict.event = controller.EVENTS.name_of(event)
            if state is not None:
                verdict.state = controller.STATES.name_of(state)
            verdict.action = _action([f for f in frames[position:] if f in generated])
            return
    names = [frame.tb_frame.f_code.co_name for frame in generated]
    verdict.action = next((name for name in names if name != _POLLING), None)


def _transition(controller: Controller, frame: FrameType) -> tuple[int, int | None, int] | None:
    """Address, state (if known) and event of the transition that begins in a frame."""
    code = frame.f_code
    variables = frame.f_locals
    if code.co_name == "trigger":
        return variables["address"], variables.get("state"), variables["event"]
    if _is_cell(frame):
        state, event = divmod(variables["index"], controller.EVENTS.NUM + 1)
        return variables["address"], state, event
    return None


def _is_cell(frame: FrameType) -> bool:
    name = frame.f_code.co_name
    fused = name.startswith(_CELL) and frame.f_code.co_filename.endswith(_FUSED_FILE)
    return fused or name == _UNDEFINED_CELL


def _action(frames: list[TracebackType]) -> str | None:
    """The action, or function of the protocol, that the outermost frame of generated code runs.

    A fused transition has no frame for each action; the map of its lines knows them.
    """
    for frame in frames:
        code = frame.tb_frame.f_code
        if code.co_name == "trigger":
            continue
        if not _is_cell(frame.tb_frame):
            return code.co_name
        action = source_action(Path(code.co_filename), frame.tb_lineno)
        if action is not None:
            return action
    return None
