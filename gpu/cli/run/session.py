"""One call of ``gcn run``: a host program that dispatches a kernel once.

Invariant: all errors in the options are reported before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gpu.cli.common.files import open_code_object, runnable_kernel
from gpu.cli.common.grid_size import Size3, SizeError, read_size
from gpu.cli.run import results
from gpu.cli.run.argument_parser import BufferArgument, PlainArgument, read_argument
from gpu.cli.run.host_program import BufferName, Call, HostProgram
from gpu.cli.run.options import RunOptions
from gpu.cli.run.report import Wanted, run_and_report
from gpu.code_object import Kernel
from gpu.wave_size import LANES
from slicc.text.command.exit_status import FINE, FOUND

MOST_GRID = (1 << 32) - 1
MOST_GROUP = 1024


def run(options: RunOptions) -> int:
    """Run and print. Returns the exit status. Raises the errors of `gpu.cli.error_messages`."""
    session = _Session(options)
    name, inputs = session.kernel.name, {"which has the kernel": options.file}
    right = run_and_report(options, session.program(), session.wanted(), name, inputs)
    return FINE if right else FOUND


class _Session:
    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.kernel = runnable_kernel(open_code_object(options.file, options), options.kernel)
        self.group, group_dimensions = group_of(options.group, self.kernel)
        self.grid, dimensions = read_size(options.grid, "grid", MOST_GRID)
        self.dimensions = max(dimensions, group_dimensions)
        self.arguments = [read_argument(text) for text in options.arguments]
        self.names = [self._name(number) for number in range(len(self.arguments))]

    def program(self) -> HostProgram:
        buffers: dict[str, BufferArgument] = {}
        values: list[object] = []
        for name, argument in zip(self.names, self.arguments):
            if isinstance(argument, PlainArgument):
                values.append(argument.value)
            else:
                buffers[name] = argument
                values.append(BufferName(name))
        call = Call(
            self.kernel,
            self.grid,
            self.group,
            self.dimensions,
            tuple(values),
            self.options.scratch,
        )
        return HostProgram(buffers, (call,))

    def wanted(self) -> Wanted:
        """Raises ArgumentTextError and SizeError."""
        expected = self._numbered(self.options.expectations, "--expect")
        files = self._numbered(self.options.saves, "--save")
        return Wanted(
            {
                self.names[number]: results.expected_values(
                    self._buffer(number, "--expect").values, text, "--expect"
                )
                for number, text in expected.items()
            },
            {self.names[number]: Path(path) for number, path in files.items()},
        )

    def _numbered(self, texts: Iterable[str], option: str) -> dict[int, str]:
        """What is said of buffers, by their numbers."""
        found: dict[int, str] = {}
        for text in texts:
            number, rest = results.numbered(text, len(self.arguments), option)
            self._buffer(number, option)
            if found.setdefault(number, rest) != rest:
                raise SizeError(f"{option}: argument {number} is given twice")
        return found

    def _buffer(self, number: int, option: str) -> BufferArgument:
        argument = self.arguments[number]
        if not isinstance(argument, BufferArgument):
            raise SizeError(f"{option}: argument {number} is no buffer")
        return argument

    def _name(self, number: int) -> str:
        """What the kernel's source calls it, if that is another name than the ones before."""
        explicit = self.kernel.metadata.explicit
        name = explicit[number].name if number < len(explicit) else ""
        alike = [each.name for each in explicit].count(name)
        return name if name and alike == 1 else f"argument {number}"


def group_of(text: str, kernel: Kernel) -> tuple[Size3, int]:
    """The size given; else the kernel's required size; else one wave."""
    if text:
        return read_size(text, "group", MOST_GROUP)
    required = kernel.metadata.required_group
    if required is None:
        return (LANES, 1, 1), 1
    return required, 3 if required[2] > 1 else 2 if required[1] > 1 else 1
