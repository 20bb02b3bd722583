"""A trap handler in memory: entered by traps, left by a return or with an error of the queue."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Buffer, Device, Signal
from gpu.compute_unit.program.decoded_program import bind_one
from gpu.compute_unit.program.trap_handler import enter, violate
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.compute_unit.wave.hardware_registers import MEM_VIOL, TRAPSTS
from gpu.errors import HostError, KernelError
from gpu.generation import Generation
from gpu.host.debugging.trap_handler import set_trap_handler
from gpu.host.processes.context import Context
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from gpu.isa.encoding.decoder import decode_at
from gpu.memory.address_space import Unmapped
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.encoding import wavefront
from tests.gpu.compute_unit.harness import Bench, run_timed
from tests.gpu.compute_unit.machine_code import code
from tests.gpu.host.devices import spinning_ahead
from tests.gpu.kernels.stored import stored

S_TRAP_3 = bytes.fromhex("030092bf")
ADD_4, ADD_0 = bytes.fromhex("70847080"), bytes.fromhex("70807080")
IS_2, IS_0 = bytes.fromhex("728206bf"), bytes.fromhex("728006bf")
CONTINUES = code("trap_handler").replace(ADD_4, ADD_0)
"""Returns to where it came from."""
REPORTS = code("trap_handler").replace(IS_2, IS_0)
"""Reports number 0, and no trap."""
S_RFE_S0 = bytes.fromhex("001f80be")


@pytest.fixture(params=["functional", "timed"])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(cus=1) if request.param == "functional" else Device(memory=FlatMemory(cus=1))


def with_handler(device: Context, program: bytes | None = None) -> Buffer:
    """The handler; where it stores the numbers of traps."""
    seen = device.alloc(np.zeros(1, np.uint32), mtype="cc")
    handler = device.alloc(np.frombuffer(program or code("trap_handler"), np.uint8))
    set_trap_handler(device, handler.address, seen.address)
    return seen


def test_a_handler_that_returns(device: Device) -> None:
    seen, data, done = with_handler(device), device.alloc(np.arange(64, dtype=np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["debugtrapk"], 64, 64, [data], completion=done)
    queue.ring()
    device.run(until=done)
    assert seen.numpy().tolist() == [3]
    assert data.numpy().tolist() == list(range(1, 65))


def test_a_handler_that_reports_an_error(device: Device) -> None:
    seen, data, failed = with_handler(device), device.alloc(np.full(64, -1, np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data], completion=failed)
    queue.ring()
    with pytest.raises(KernelError, match=r"queue 0: .*its trap handler has reported error 9"):
        device.run()
    assert seen.numpy().tolist() == [2]
    assert (failed.value, queue.state) == (ERROR_VALUE, QueueState.INACTIVE)
    assert all(unit.idle for unit in device.units)


@pytest.mark.parametrize("in_process", [False, True])
def test_a_memory_violation_that_the_handler_returns_from(device: Device, in_process: bool) -> None:
    """The kernel continues with its next instruction; what was refused has not happened."""
    where = device.create_process() if in_process else device
    seen = with_handler(where, CONTINUES)
    seen.write(np.array([77], np.uint32))
    a, c, done = where.alloc(np.arange(64, dtype=np.int32)), where.alloc(np.zeros(64)), Signal(1)
    queue = where.create_queue()
    gone = where.alloc(a.numpy())
    where.free(gone)
    queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [a, gone, c], completion=done)
    queue.ring()
    where.run(until=done)
    assert seen.numpy().tolist() == [0], "which is the number of no trap"
    assert queue.state is QueueState.ACTIVE


@pytest.mark.parametrize("in_process", [False, True])
def test_a_memory_violation_in_the_handler(device: Device, in_process: bool) -> None:
    """It takes what is no queue for one."""
    where = device.create_process() if in_process else device
    with_handler(where, REPORTS)
    gone, failed = where.alloc(np.zeros(64, np.int32)), Signal(1)
    where.free(gone)
    queue = where.create_queue()
    queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [gone] * 3, completion=failed)
    queue.ring()
    with pytest.raises(KernelError, match=r"`s_(load|store)_dwordx2 ttmp.*nothing is mapped"):
        where.run()
    assert all(unit.idle for unit in device.units)


def test_what_a_handler_is_told_of_a_violation() -> None:
    wave = wavefront()
    assert not violate(wave, Unmapped(0, 0, "")), "there is no handler"
    wave.group.start.trap_handler = (0x5000, 0x6000)
    wave.pc = 0x1_0000_2008
    assert not violate(wave, IndexError()), "a fault of the code"
    assert violate(wave, Unmapped(0, 0, ""))
    assert (wave.pc, wave.sgprs[112:114]) == (0x5000, [0x2008, 1])
    assert wave.hardware[TRAPSTS] == MEM_VIOL
    assert not violate(wave, Unmapped(0, 0, "")), "it is in the handler"


def test_without_a_handler_again(device: Device) -> None:
    seen, data = with_handler(device), device.alloc(np.full(64, -1, np.int32))
    set_trap_handler(device, 0)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data])
    queue.ring()
    with pytest.raises(KernelError, match="trap 2"):
        device.run()
    assert seen.numpy().tolist() == [0]


def test_where_a_handler_may_lie() -> None:
    device = Device(cus=1)
    place = device.alloc(np.zeros(512, np.uint8)).address
    for base, memory, message in (
        (place + 4, 0, "256-byte aligned"),
        (1 << 40, 0, "the trap handler at 0x10000000000 is not mapped"),
        (place, 1 << 40, "the memory of a trap handler at"),
    ):
        with pytest.raises(HostError, match=message):
            set_trap_handler(device, base, memory)


@pytest.mark.parametrize(("generation", "first"), [(Generation.GFX8, 112), (Generation.GFX9, 108)])
def test_what_a_handler_is_given(generation: Generation, first: int) -> None:
    wave = wavefront(generation=generation)
    wave.group.start.trap_handler = (0x5000, 0x6000)
    enter(wave, bind_one(decode_at(S_TRAP_3, 0, 0x1_0000_2000, generation)))
    assert wave.pc == 0x5000
    assert wave.sgprs[first : first + 2] == [0x2000, 1 | 3 << 16]
    if generation is Generation.GFX8:
        assert wave.sgprs[108:112] == [0x5000, 0, 0x6000, 0]


def test_a_trap_in_a_handler(device: Device) -> None:
    handler = device.alloc(np.frombuffer(S_TRAP_3, np.uint8))
    set_trap_handler(device, handler.address)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["debugtrapk"], 64, 64, [device.alloc(np.zeros(64))])
    queue.ring()
    with pytest.raises(KernelError, match=r"`s_trap 3`.*: a trap handler does not trap"):
        device.run()


def test_a_return_without_a_handler() -> None:
    functional, timed = Bench(S_RFE_S0), Bench(S_RFE_S0)
    functional.run(functional.group())
    unit = TimedUnit(0, timed.memory)
    unit.start(timed.group())
    run_timed(timed.memory, unit)
    for bench in (functional, timed):
        (fault,) = bench.listener.faults
        assert "only a trap handler returns from an exception" in str(fault)


def test_no_handler_beside_waves_that_run_ahead() -> None:
    with pytest.raises(HostError, match="run ahead of the clock, which have no trap handler"):
        set_trap_handler(spinning_ahead(), 0)
