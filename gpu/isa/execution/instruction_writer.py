"""A bound instruction: a function of a wave that executes one instruction with its operands.

Calling helpers for every operand would cost more than the arithmetic of 64 lanes, so bound
instructions are generated code: `InstructionWriter` collects lines of Python in which registers and
constants appear as parameters; instructions of the same shape have the same text, which is compiled
once.

Invariant: the text holds no number of a register and no value of an operand, only shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpu.isa.wave_registers import Wave

BoundInstruction = Callable[[Wave], None]

_factories: dict[tuple[int, str], Callable[..., BoundInstruction]] = {}


class NotImplementedInstruction(Exception):
    """An instruction that is decoded and printed but not implemented was executed."""


class InstructionWriter:
    """The source of one bound instruction, and the values of its parameters."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._lines: list[str] = []
        self._indent = "        "
        self._temporaries = 0

    def value(self, value: Any) -> str:
        """The parameter that stands for this object."""
        self._values.append(value)
        return f"k{len(self._values) - 1}"

    def temporary(self) -> str:
        """The name of a new local variable."""
        self._temporaries += 1
        return f"t{self._temporaries}"

    def line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def indent(self) -> None:
        self._indent += "    "

    def dedent(self) -> None:
        self._indent = self._indent[4:]

    @property
    def text(self) -> str:
        """The source, with parameters for what differs between like instructions."""
        parameters = ", ".join(f"k{number}" for number in range(len(self._values)))
        body = self._lines or [self._indent + "pass"]
        header = [f"def make({parameters}):", "    def execute(w):"]
        return "\n".join([*header, *body, "    return execute", ""])

    def bind(self) -> BoundInstruction:
        text = self.text
        key = (len(self._values), text)
        factory = _factories.get(key)
        if factory is None:
            namespace: dict[str, Any] = {}
            exec(compile(text, "<bound instruction>", "exec"), namespace)
            factory = _factories[key] = namespace["make"]
        return factory(*self._values)


def undispatched(function: Any) -> Any:
    """A numpy function without its search for arrays of other libraries, which takes as long as
    64 lanes do."""
    return getattr(function, "_implementation", function)


LOW: Final = 0xFFFF_FFFF
"""The bits of one scalar register."""
