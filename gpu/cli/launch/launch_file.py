"""A launch file: buffers by name, and steps that dispatch kernels, repeated if they say so.

    object = "stencil.cl"                     # beside this file

    [buffers]
    a = "f32[64,64]=random:1"                 # as gcn run --arg
    b = "out:f32[64,64]"

    [[step]]
    repeat = 10
    [[step.dispatch]]
    kernel = "smooth"
    grid = "64,64"
    group = "16,16"
    args = ["a", "b", "u32={i}"]              # buffers by name, other arguments as gcn run --arg

    [expect]
    b = "right.npy"

``{i}`` in a grid, a group or an argument is the number of the iteration, from 0, or the value of
``each`` whose turn it is.

Invariant: every error names the file, and the line and the field where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta, Struct

from gpu.cli.common.grid_size import SizeError, read_size
from gpu.cli.run.argument_parser import ArgumentTextError, BufferArgument, read_argument
from gpu.cli.run.host_program import BufferName, Call, HostProgram
from gpu.cli.run.report import Wanted
from gpu.cli.run.results import expected_values
from gpu.cli.run.session import MOST_GRID, group_of
from gpu.code_object import CodeObject, Kernel
from runtime.description.origin import DescriptionError, Origin, parse_toml, unknown_name
from runtime.description.reader import read
from runtime.files import read_bounded

MOST_CALLS: Final = 1 << 16
_MOST_BYTES: Final = 1 << 20
_TURN: Final = "{i}"

Text = Annotated[str, Meta(max_length=4096)]
Words = Annotated[tuple[Text, ...], Meta(max_length=256)]
Turns = Annotated[int, Meta(ge=1, le=MOST_CALLS)]
Values = Annotated[tuple[int, ...], Meta(max_length=MOST_CALLS)]
Texts = Annotated[Mapping[str, Text], Meta(max_length=256)]


class DispatchTable(Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a kernel. ``group`` empty: what the kernel requires, or one wave."""

    kernel: Annotated[Text, Meta(description="name of the kernel")]
    grid: Annotated[Text, Meta(description="work-items in each dimension, X[,Y[,Z]]")]
    group: Text = ""
    args: Words = ()
    scratch: Annotated[int, Meta(ge=0, le=1 << 31)] | None = None


class StepTable(Struct, frozen=True, forbid_unknown_fields=True):
    """Calls in order, carried out ``repeat`` times, or once for each value of ``each``."""

    dispatch: Annotated[
        Annotated[tuple[DispatchTable, ...], Meta(max_length=256)],
        Meta(description="tables [[step.dispatch]]"),
    ]
    repeat: Turns = 1
    each: Values = ()


class LaunchTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    object: Annotated[Text, Meta(description="code object or source, beside this file")]
    step: Annotated[
        Annotated[tuple[StepTable, ...], Meta(max_length=256)],
        Meta(description="tables [[step]]"),
    ]
    buffers: Texts = {}
    expect: Texts = {}
    save: Texts = {}


class LaunchFile:
    """The tables of a file, checked one by one. Raises DescriptionError, OSError."""

    def __init__(self, path: Path) -> None:
        data = read_bounded(path, _MOST_BYTES)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise DescriptionError(str(path), 0, "", None, "not UTF-8") from None
        self._origin = Origin(str(path), text)
        self._table = read(LaunchTable, parse_toml(text, str(path)), self._origin)
        self._folder = path.parent
        self._buffers = {
            name: self._buffer(name, text) for name, text in self._table.buffers.items()
        }

    @property
    def code_path(self) -> Path:
        """The code object or source."""
        return self._folder / self._table.object

    def program(self, code: CodeObject) -> HostProgram:
        """All calls in order. Raises DescriptionError."""
        calls: list[Call] = []
        for number, step in enumerate(self._table.step):
            if step.each and step.repeat != 1:
                raise self._error(("step", number, "each"), step.each, "repeat is given as well")
            turns = step.each or range(step.repeat)
            if len(calls) + len(turns) * len(step.dispatch) > MOST_CALLS:
                raise self._error(("step", number), None, f"more than {MOST_CALLS:,} dispatches")
            for turn in turns:
                for place, dispatch in enumerate(step.dispatch):
                    at = ("step", number, "dispatch", place)
                    calls.append(self._call(code, dispatch, at, str(turn)))
        if not calls:
            raise self._error(("step",), None, "nothing is dispatched")
        return HostProgram(self._buffers, tuple(calls))

    def wanted(self) -> Wanted:
        """Raises DescriptionError."""
        for section in ("expect", "save"):
            for name, text in getattr(self._table, section).items():
                if name not in self._buffers:
                    why = unknown_name("buffer", name, list(self._buffers))
                    raise self._error((section, name), text, why)
        expected = {}
        for name, text in self._table.expect.items():
            try:
                values = self._values(text)
                expected[name] = expected_values(self._buffers[name].values, values, "expect")
            except ArgumentTextError as error:
                raise self._error(("expect", name), text, str(error)) from None
        files = {name: self._folder / text for name, text in self._table.save.items()}
        return Wanted(expected, files)

    def _buffer(self, name: str, text: str) -> BufferArgument:
        try:
            argument = read_argument(self._values(text))
        except ArgumentTextError as error:
            raise self._error(("buffers", name), text, str(error)) from None
        if not isinstance(argument, BufferArgument):
            raise self._error(("buffers", name), text, "no buffer, as f32[1024]=random:1 is one")
        return argument

    def _values(self, text: str) -> str:
        """A text in which a numpy file is named from here."""
        before, found, file = text.rpartition("=")
        if not found:
            before, found, file = text.rpartition(":")
        return f"{before}{found}{self._folder / file}" if file.endswith(".npy") else text

    def _call(
        self, code: CodeObject, table: DispatchTable, at: tuple[str | int, ...], turn: str
    ) -> Call:
        kernel = self._kernel(code, table, at)
        field, value = "grid", table.grid
        try:
            grid, dimensions = read_size(table.grid.replace(_TURN, turn), "grid", MOST_GRID)
            field, value = "group", table.group
            group, group_dimensions = group_of(table.group.replace(_TURN, turn), kernel)
        except SizeError as error:
            raise self._error((*at, field), value, str(error)) from None
        arguments = tuple(
            self._argument(text.replace(_TURN, turn), (*at, "args", place))
            for place, text in enumerate(table.args)
        )
        dimensions = max(dimensions, group_dimensions)
        return Call(kernel, grid, group, dimensions, arguments, table.scratch)

    def _kernel(self, code: CodeObject, table: DispatchTable, at: tuple[str | int, ...]) -> Kernel:
        if table.kernel not in code.kernels:
            why = unknown_name("kernel", table.kernel, list(code.kernels))
            raise self._error((*at, "kernel"), table.kernel, why)
        kernel = code.kernels[table.kernel]
        refusals = kernel.refusals()
        if refusals:
            raise self._error((*at, "kernel"), table.kernel, "; ".join(refusals))
        takes = len(kernel.metadata.explicit)
        if takes != len(table.args):
            why = f"{kernel.name} takes {takes} arguments, {len(table.args)} are given"
            raise self._error((*at, "args"), table.args, why)
        return kernel

    def _argument(self, text: str, at: tuple[str | int, ...]) -> object:
        if text in self._buffers:
            return BufferName(text)
        try:
            argument = read_argument(text)
        except ArgumentTextError:
            if text.replace("_", "a").isidentifier() and text != "null":
                why = unknown_name("buffer", text, list(self._buffers))
                raise self._error(at, text, why) from None
            why = "neither a buffer nor a value, as u32=1024 is one"
            raise self._error(at, text, why) from None
        if isinstance(argument, BufferArgument):
            raise self._error(at, text, "a buffer has a name, in [buffers]")
        return argument.value

    def _error(self, at: tuple[str | int, ...], value: object, message: str) -> DescriptionError:
        return self._origin.error(at, value, message)
