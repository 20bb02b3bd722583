"""What a host program gets wrong: one kind of error, which says what, before anything happens."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from gpu import Buffer, CodeObject, Device, GpuError, Signal
from gpu.cli.options import ReplayOptions
from gpu.cli.run.options import RunOptions
from gpu.code_object import ArgumentError, CodeObjectError, CompileError, Kernel
from gpu.device_limits import MOST_UNITS
from gpu.errors import HostError
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.debugging.debugger import Debugger
from gpu.host.processes.process import Process
from gpu.hsa.aql import KernelDispatch
from gpu.hsa.queue_state import QueueState
from slicc.text.command.options import specs
from tests.gpu.kernels.stored import stored

ONES = np.ones(64, np.float32)


@pytest.fixture(scope="module")
def code() -> CodeObject:
    return stored("vadd")


@pytest.fixture
def device() -> Device:
    return Device(cus=1)


def test_errors_of_objects_arguments_and_compilers_are_errors_of_the_gpu() -> None:
    assert issubclass(ArgumentError, GpuError)
    assert issubclass(CodeObjectError, GpuError)
    assert issubclass(CompileError, GpuError)


def test_what_belongs_to_another_device_is_refused(device: Device, code: CodeObject) -> None:
    other = Device(cus=1)
    mine, strange = device.alloc(ONES), other.alloc(ONES)
    queue = device.create_queue()
    with pytest.raises(GpuError, match="argument 1: the buffer belongs to another device"):
        queue.dispatch(code["vadd"], 64, 64, [mine, strange, mine, 64])
    with pytest.raises(GpuError, match="kernel vadd was loaded by another device"):
        queue.dispatch(other.load(code).kernels["vadd"], 64, 64, [mine, mine, mine, 64])
    with pytest.raises(GpuError, match="the buffer belongs to another device"):
        device.free(strange)
    assert queue.write_index == 0
    assert np.array_equal(strange.numpy(), ONES)


def test_a_queue_is_stopped_by_its_own_device_or_process_alone(device: Device) -> None:
    process = device.create_process()
    queue = process.create_queue()
    for other in (device, device.create_process(), Device(cus=1)):
        for call in (other.inactivate, other.destroy):
            with pytest.raises(HostError, match=r"queue 0 .*is another device's, or another pro"):
                call(queue)
        with pytest.raises(HostError, match="another device's"):
            other.set_cu_mask(queue, 1)
    assert queue.state is QueueState.ACTIVE
    process.destroy(queue)
    assert queue.state is QueueState.DESTROYED


def offset(device: Device, kernel: Kernel, value: object) -> None:
    ones = device.alloc(ONES)
    queue = device.create_queue()
    queue.dispatch(kernel, 64, 64, [ones] * 3 + [64], global_offset=value)  # type: ignore[arg-type]


def freed(device: Device) -> Buffer:
    buffer = device.alloc(ONES)
    device.free(buffer)
    return buffer


def ended(device: Device) -> Process:
    process = device.create_process()
    process.end()
    return process


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, k: d.create_queue().dispatch(k, 1.5, 64, []), "whole numbers.*not 1.5"),
        (lambda d, k: d.create_queue().dispatch(k, 64, (1, 2, 3, 4), []), "1 to 3 dimensions"),
        (lambda d, k: offset(d, k, (1, 2, 3, 4)), "a global offset has 1 to 3 dimensions, not 4"),
        (lambda d, k: offset(d, k, "x"), "a global offset has whole numbers .*not 'x'"),
        (lambda d, k: offset(d, k, (0, -1)), r"64 bits in each dimension: not \(0, -1\)"),
        (lambda d, k: offset(d, k, 1 << 64), "64 bits in each dimension: not 18446744073709551616"),
        (lambda d, k: d.create_queue().dispatch(k, 64, 64, []), "takes 4 arguments, 0 are given"),
        (lambda d, k: d.alloc(ONES).write(ONES[:5]), r"has the shape \(64,\), not \(5,\)"),
        (lambda d, k: d.alloc(ONES).write(["a"] * 64), "cannot be made float32"),
        (lambda d, k: d.alloc(ONES, mtype="wc"), "wc"),
        (lambda d, k: d.create_queue(doorbell="gfx9"), "'plain' or 'legacy' or 'gfx7', not 'gfx9'"),
        (lambda d, k: [Debugger(d) for _ in range(2)], "there is a debugger already"),
        (lambda d, k: d.create_queue(size=4.0), "a power of two of packets, .*not 4.0"),
        (lambda d, k: d.create_queue(size="8"), "a power of two of packets"),
        (lambda d, k: d.create_queue().agent_dispatch(70000), "type has 2 bytes; 70000 does not"),
        (lambda d, k: d.create_queue().agent_dispatch(1, [-1]), "_0 has 8 bytes; -1 does not fit"),
        (lambda d, k: d.create_queue().agent_dispatch(1, ["x"]), "_0 is an integer, not 'x'"),
        (lambda d, k: d.on_agent_dispatch(1 << 16, print), "a type of 16 bits, not 65536"),
        (lambda d, k: CoreRuntime(d, packets="2.0"), "'1.0' or 'draft', not '2.0'"),
        (lambda d, k: CoreRuntime(d, timeout_ticks=-1), "0 ticks or more, not -1"),
        (lambda d, k: freed(d).numpy(), "nothing is mapped there"),
        (lambda d, k: ended(d).alloc(ONES), "process 8 has ended"),
        (
            lambda d, k: Device("GPU_VIPER", tccs=3),
            "3 banks: 1, 2, 4, 8, 16, 32 or 64 are possible",
        ),
        (lambda d, k: Device("GPU_VIPER", tccs=65), "65 banks: 1, 2, 4"),
        (lambda d, k: Device(cus=MOST_UNITS + 1), "1 to 64 compute units, not 65"),
        (lambda d, k: Device(cus="4"), "1 to 64 compute units, not '4'"),
        (lambda d, k: d.load("vadd.co"), r"'vadd.co' is no code object: CodeObject.load\(FILE\)"),
        (lambda d, k: CodeObject.load("nowhere.co"), "nowhere.co"),
        (lambda d, k: CodeObject.compile("nowhere.cl"), "nowhere.cl"),
    ],
)
def test_a_wrong_call_is_an_error_of_the_gpu(
    call: Callable[..., object], message: str, device: Device, code: CodeObject
) -> None:
    with pytest.raises(GpuError, match=message):
        call(device, code["vadd"])


@pytest.mark.parametrize("value", [np.int64(3), [3], np.array([3, 0], np.uint32)])
def test_a_global_offset_may_be_of_numpy(value: object, device: Device) -> None:
    kernel = stored("vadd", "clang14-O0")["vadd"]
    offset(device, kernel, value)
    (packet,) = (device.host.read(each.field("base_address"), 64) for each in device.queues)
    given = device.host.read(KernelDispatch.unpack(packet).kernarg, 56)
    assert struct.unpack_from("<3Q", given, 32) == (3, 0, 0)


def test_the_command_takes_what_a_device_takes() -> None:
    reads = {
        (options, field.name): spec.read
        for options in (RunOptions, ReplayOptions)
        for field, spec in specs(options)
    }
    for name in ((RunOptions, "cus"), (RunOptions, "tccs"), (ReplayOptions, "tccs")):
        read = reads[name]
        assert read is not None
        assert read("64") == 64
        with pytest.raises(ValueError, match="64"):
            read("65")
        if name[1] == "tccs":
            with pytest.raises(ValueError, match="3: 1, 2, 4, 8, 16, 32 or 64 are possible"):
                read("3")


SHAPES = [
    {},
    {"protocol": "GPU_VIPER", "engine": "python"},
    {"protocol": "GPU_VIPER", "engine": "python", "ahead": False},
]


@pytest.mark.parametrize("how", SHAPES, ids=["functional", "ahead", "timed"])
def test_a_buffer_ends_where_it_was_asked_to_end(how: dict[str, object], code: CodeObject) -> None:
    """The store of lane 3 is in the page of its buffer, and 4 bytes behind its end."""
    device = Device(**how, cus=1)  # type: ignore[arg-type]
    source, short = device.alloc(ONES), device.alloc_like(ONES[:3], name="c")
    queue, done = device.create_queue(), Signal(1)
    queue.dispatch(code["vadd"], 4, 64, [source, source, short, 4], completion=done)
    queue.ring()
    with pytest.raises(GpuError, match=r"lane 3: .*4 bytes reach past the end of c at .*12 bytes"):
        device.run(until=done)
