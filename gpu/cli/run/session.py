"""One call of ``gcn run``: a host program that dispatches a kernel once.

Invariant: all errors in the options are reported before anything runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpu.cli.common.files import check_writable, open_code_object, runnable_kernel
from gpu.cli.common.grid_size import Size3, SizeError, read_size
from gpu.cli.run import results
from gpu.cli.run.argument_parser import BufferArgument, read_argument
from gpu.cli.run.counters import lines_about_caches, progress_line, work_of
from gpu.cli.run.device import OpenedDevice, keep_recording, open_device
from gpu.cli.run.options import RunOptions
from gpu.code_object import Kernel
from gpu.host.buffer import Buffer
from gpu.host.device_core import BareDevice
from gpu.hsa.signal import Signal
from gpu.wave_size import LANES
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.command.progress import Progress
from slicc.text.data import json_text
from slicc.text.files import write_whole
from slicc.text.terminal import printable, printable_lines

_MOST_GRID = (1 << 32) - 1
_MOST_GROUP = 1024


def run(options: RunOptions) -> int:
    """Run and print. Returns the exit status. Raises the errors of `gpu.cli.error_messages`."""
    return FINE if _Session(options).run() else FOUND


class _Session:
    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.kernel = runnable_kernel(open_code_object(options), options.kernel)
        self.group, group_dimensions = _group(options.group, self.kernel)
        self.grid, dimensions = read_size(options.grid, "grid", _MOST_GRID)
        self.dimensions = max(dimensions, group_dimensions)
        self.arguments = [read_argument(text) for text in options.arguments]
        self.expected = dict(self._numbered(text, "--expect") for text in options.expectations)
        self.files = dict(self._numbered(text, "--save") for text in options.saves)
        for path in (*map(Path, self.files.values()), options.stats, options.record):
            if path is not None:
                check_writable(path)
        for number, text in self.expected.items():
            results.expected_values(self._buffer(number, "--expect").values, text, "--expect")

    def _numbered(self, text: str, option: str) -> tuple[int, str]:
        number, rest = results.numbered(text, len(self.arguments), option)
        self._buffer(number, option)
        return number, rest

    def _buffer(self, number: int, option: str) -> BufferArgument:
        argument = self.arguments[number]
        if not isinstance(argument, BufferArgument):
            raise SizeError(f"{option}: argument {number} is no buffer")
        return argument

    def run(self) -> bool:
        opened = open_device(self.options)
        buffers = self._dispatch(opened.device)
        right = self._judge(buffers) and not opened.device.findings
        for finding in opened.device.findings:
            print(printable_lines(f"found: {finding}"))
        self._print_results(opened, buffers)
        if self.options.stats is not None:
            text = json_text(self._numbers(opened), indent=2) + "\n"
            write_whole(self.options.stats, text.encode())
        if self.options.record is not None:
            keep_recording(opened.device, self.options, self.options.record)
        return right

    def _dispatch(self, device: BareDevice) -> dict[int, Buffer]:
        buffers: dict[int, Buffer] = {}
        values: list[Any] = []
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, BufferArgument):
                made = device.alloc(argument.values, name=self._name(number))
                buffers[number] = made
                values.append(made)
            else:
                values.append(argument.value)
        queue = device.create_queue()
        done = Signal(1)
        queue.dispatch(
            self.kernel,
            self.grid[: self.dimensions],
            self.group[: self.dimensions],
            values,
            completion=done,
            private_bytes=self.options.scratch,
        )
        queue.ring()
        wanted = not (self.options.no_progress or self.options.quiet)
        with Progress(progress_line(device), wanted):
            device.run(until=done)
        return buffers

    def _name(self, number: int) -> str:
        explicit = self.kernel.metadata.explicit
        name = explicit[number].name if number < len(explicit) else ""
        return printable(name) or f"argument {number}"

    def _judge(self, buffers: dict[int, Buffer]) -> bool:
        right = True
        for number, text in self.expected.items():
            found = buffers[number].numpy()
            expected = results.expected_values(found, text, "--expect")
            wrong = results.difference(found, expected, self.options.tolerance)
            if wrong is not None:
                print(f"wrong: {self._name(number)}: {wrong}")
                right = False
            elif not self.options.quiet:
                print(f"as expected: {self._name(number)}")
        return right

    def _print_results(self, opened: OpenedDevice, buffers: dict[int, Buffer]) -> None:
        for number, argument in enumerate(self.arguments):
            if isinstance(argument, BufferArgument) and argument.shown:
                print(f"{self._name(number)} = {results.shown(buffers[number].numpy())}")
        for number, path in self.files.items():
            results.write(buffers[number].numpy(), Path(path))
        if self.options.quiet:
            return
        print(f"{printable(self.kernel.name)}: {work_of(opened.device)}, {opened.ticks}")
        for line in lines_about_caches(opened.device.memory):
            print(line)
        print(f"fidelity: {opened.fidelity}")

    def _numbers(self, opened: OpenedDevice) -> dict[str, Any]:
        work = work_of(opened.device)
        return {
            "kernel": self.kernel.name,
            "grid": self.grid,
            "group": self.group,
            "fidelity": opened.fidelity,
            "groups": work.groups,
            "waves": work.waves,
            "findings": [str(finding) for finding in opened.device.findings],
            **opened.device.stats,
        }


def _group(text: str, kernel: Kernel) -> tuple[Size3, int]:
    """The size given; else the kernel's required size; else one wave."""
    if text:
        return read_size(text, "group", _MOST_GROUP)
    required = kernel.metadata.required_group
    if required is None:
        return (LANES, 1, 1), 1
    return required, 3 if required[2] > 1 else 2 if required[1] > 1 else 1
