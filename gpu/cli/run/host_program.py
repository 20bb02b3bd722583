"""What a command line or a launch file has a host program do: buffers, then kernels one by one.

Invariant: a program is a value, so it may be carried out again on another device.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsIndex

from gpu.cli.common.grid_size import Size3
from gpu.cli.run import results
from gpu.cli.run.argument_parser import BufferArgument
from gpu.code_object import Kernel
from gpu.code_object.errors import ArgumentError
from gpu.host.buffer import Buffer
from gpu.host.device import Device
from gpu.host.device_core import Options
from gpu.host.processes.context import Context
from gpu.hsa.signal import Signal
from slicc.text.lazy_dataclass import dataclass
from slicc.text.terminal import printable


@dataclass(frozen=True, slots=True)
class BufferName:
    """An argument: the buffer of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """One dispatch. ``arguments``: `BufferName`, or what `gpu.code_object.pack_arguments` takes.
    ``scratch``: private bytes of a work-item; None: what the kernel says."""

    kernel: Kernel
    grid: Size3
    group: Size3
    dimensions: int
    arguments: tuple[object, ...]
    scratch: int | None = None


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Buffers by name, in order, and calls that follow each other."""

    buffers: Mapping[str, BufferArgument]
    calls: tuple[Call, ...]


def allocate(where: Context, program: HostProgram) -> dict[str, Buffer]:
    """The program's buffers, filled."""
    return {
        name: where.alloc(argument.values, name=printable(name))
        for name, argument in program.buffers.items()
    }


def carry_out(where: Context, program: HostProgram, buffers: Mapping[str, Buffer]) -> None:
    """Dispatch all calls, each after the one before it, and run to their end.

    A queue takes a part of them at a time. Raises the errors of the device.
    """
    queue = where.create_queue()
    for first in range(0, len(program.calls), queue.size):
        calls = program.calls[first : first + queue.size]
        done = Signal(len(calls))
        for call in calls:
            _refuse_addresses(call)
            values = [
                buffers[each.name] if isinstance(each, BufferName) else each
                for each in call.arguments
            ]
            queue.dispatch(
                call.kernel,
                call.grid[: call.dimensions],
                call.group[: call.dimensions],
                values,
                completion=done,
                barrier=True,
                private_bytes=call.scratch,
            )
        queue.ring()
        where.run(until=done)


def _refuse_addresses(call: Call) -> None:
    """A number is a mistake where a kernel takes memory: no address is known beforehand."""
    for place, (argument, value) in enumerate(zip(call.kernel.metadata.explicit, call.arguments)):
        if argument.kind == "global_buffer" and isinstance(value, SupportsIndex):
            raise ArgumentError(
                f"kernel {call.kernel.name!r}, argument {place} ({argument.type_name}"
                f"{' ' if argument.name else ''}{argument.name}): is a buffer, as u32[{value}] is "
                f"one; {value} is a number"
            )


def differences(
    program: HostProgram, found: Mapping[str, Buffer], cus: int, tolerance: float
) -> list[str]:
    """In which buffers another result stands than without caches and time."""
    reference = Device(functional=True, cus=cus, options=Options(printf=lambda text: None))
    right = allocate(reference, program)
    carry_out(reference, program, right)
    wrong = (
        (name, results.difference(found[name].numpy(), right[name].numpy(), tolerance))
        for name in program.buffers
    )
    return [f"{printable(name)}: {text}" for name, text in wrong if text is not None]
