"""Calls as bytes: the numbers and sizes of the header, each call's effect, and any bytes at all."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu.host.kfd.driver import Driver, WaitResult
from gpu.host.kfd.refusals import CODES
from gpu.host.kfd.structures import APERTURES, EVENT_DATA, MemoryFlags
from gpu.host.kfd.table import CALLS, call
from gpu.memory.address_space import Unmapped
from tests.gpu.host.kfd.test_driver import Process

EINVAL, EFAULT, ENOMEM = -CODES["EINVAL"], -CODES["EFAULT"], -CODES["ENOMEM"]
COMMANDS = {
    0x01: 0x80084B01,
    0x02: 0xC0584B02,
    0x03: 0xC0084B03,
    0x05: 0xC0284B05,
    0x06: 0x81904B06,
    0x07: 0x40184B07,
    0x08: 0xC0204B08,
    0x09: 0x40084B09,
    0x0A: 0x40084B0A,
    0x0B: 0x40084B0B,
    0x0C: 0xC0184B0C,
    0x14: 0xC0104B14,
    0x15: 0x40084B15,
    0x16: 0xC0284B16,
    0x17: 0x40084B17,
    0x18: 0xC0184B18,
    0x19: 0xC0184B19,
    0x1A: 0x40104B1A,
    0x1B: 0xC0184B1B,
    0x1E: 0xC0104B1E,
}
"""By number: direction, size and letter as a C compiler computes them from the header."""


def ask(driver: Driver, number: int, **fields: int) -> tuple[int, Mapping[str, int]]:
    row = CALLS[number]
    code, data = call(driver, row.command, row.layout.pack(fields))
    return code, row.layout.unpack(data)


def test_commands_are_those_of_the_header() -> None:
    assert {number: row.command for number, row in CALLS.items()} == COMMANDS


def test_a_queue_from_its_creation_to_its_end() -> None:
    process = Process()
    driver, device = process.driver, process.bench.device
    request = process.request()
    fields = {
        "ring_base_address": request.ring_base,
        "ring_size": request.ring_size,
        "read_pointer_address": request.read_pointer,
        "write_pointer_address": request.write_pointer,
        "gpu_id": 1,
        "queue_type": 2,
        "queue_percentage": 100,
        "queue_priority": 15,
    }
    code, made = ask(driver, 0x02, **fields)
    assert (code, made["doorbell_offset"], made["queue_id"]) == (0, 0, 0)
    assert ask(driver, 0x02, **fields)[1]["doorbell_offset"] == 8, "the next doorbell"
    mask = device.memory.space.allocate(8).start
    device.host.write(mask, (0b10).to_bytes(8, "little"))
    assert ask(driver, 0x1A, queue_id=0, num_cu_mask=64, cu_mask_ptr=mask)[0] == 0
    assert device.queues[0].link.cus == (1,)
    assert ask(driver, 0x07, queue_id=0, queue_priority=3, queue_percentage=0)[0] == 0
    assert device.queues[0].link.priority == 3
    assert ask(driver, 0x03, queue_id=0)[0] == 0
    assert ask(driver, 0x03, queue_id=0)[0] == EINVAL


def test_events() -> None:
    driver = Process().driver
    code, made = ask(driver, 0x08, auto_reset=1)
    assert code == 0 and made["event_page_offset"] == driver.device.events.base
    array = driver.device.memory.space.allocate(2 * EVENT_DATA.size).start
    driver.device.host.write(array, EVENT_DATA.pack({"event_id": made["event_id"]}))
    wait = {"events_ptr": array, "num_events": 1, "timeout": 1}
    assert ask(driver, 0x0C, **wait)[1]["wait_result"] == WaitResult.TIMEOUT
    assert ask(driver, 0x0A, event_id=made["event_id"])[0] == 0
    assert ask(driver, 0x0C, **wait) == (0, wait | {"wait_for_all": 0, "wait_result": 0})
    assert ask(driver, 0x0C, **wait | {"num_events": 2})[0] == EINVAL, "there is no event 0"
    assert ask(driver, 0x0C, **wait | {"num_events": 3})[0] == EFAULT
    assert ask(driver, 0x0B, event_id=made["event_id"])[0] == 0
    assert ask(driver, 0x09, event_id=made["event_id"])[0] == 0
    assert ask(driver, 0x09, event_id=made["event_id"])[0] == EINVAL


def test_memory() -> None:
    process = Process()
    driver, host = process.driver, process.bench.device.host
    want = {"gpu_id": 1, "size": 5000, "flags": MemoryFlags.VRAM | MemoryFlags.WRITABLE}
    assert ask(driver, 0x16, **want)[0] == EINVAL, "no address space yet"
    assert ask(driver, 0x15, gpu_id=1, drm_fd=5)[0] == 0
    assert ask(driver, 0x15, gpu_id=1, drm_fd=6)[0] == -CODES["EBUSY"]
    for wrong in ({"flags": 0}, {"flags": 3}, {"flags": 5}, {"size": 0}, {"va_addr": 4096}):
        assert ask(driver, 0x16, **want | wrong)[0] == EINVAL
    assert ask(driver, 0x16, **want | {"size": 1 << 34})[0] == 0
    assert ask(driver, 0x16, **want)[0] == ENOMEM
    process = Process()
    driver, host = process.driver, process.bench.device.host
    ask(driver, 0x15, gpu_id=1, drm_fd=5)
    _, made = ask(driver, 0x16, **want)
    with pytest.raises(Unmapped):
        host.read(made["va_addr"], 4)
    gpus = driver.device.memory.space.allocate(4).start
    host.write(gpus, (1).to_bytes(4, "little"))
    where = {"handle": made["handle"], "device_ids_array_ptr": gpus, "n_devices": 1}
    assert ask(driver, 0x18, **where)[1]["n_success"] == 1
    host.write(made["va_addr"], b"kept")
    assert ask(driver, 0x17, handle=made["handle"])[0] == -CODES["EBUSY"]
    assert ask(driver, 0x19, **where)[0] == 0
    with pytest.raises(Unmapped):
        host.read(made["va_addr"], 4)
    assert ask(driver, 0x18, **where)[0] == 0
    assert host.read(made["va_addr"], 4) == b"kept"
    assert ask(driver, 0x18, **where | {"n_devices": 0})[0] == EINVAL
    assert ask(driver, 0x18, **where | {"device_ids_array_ptr": 64})[0] == EFAULT
    assert ask(driver, 0x19, **where)[0] == 0
    assert ask(driver, 0x17, handle=made["handle"])[0] == 0
    assert ask(driver, 0x18, **where)[0] == EINVAL


def test_what_the_device_is() -> None:
    driver = Process().driver
    assert ask(driver, 0x01)[1] == {"major": 1, "minor": 11}
    _, clocks = ask(driver, 0x05, gpu_id=1)
    assert clocks["gpu_clock_counter"] == driver.device.now
    assert ask(driver, 0x05, gpu_id=9)[0] == EINVAL
    assert ask(driver, 0x1E, num_gws=1)[0] == -CODES["ENODEV"]
    _, old = ask(driver, 0x06)
    assert (old["num_of_nodes"], old["gpu_id_0"], old["lds_base_0"]) == (1, 1, 0x1_0000 << 32)
    assert ask(driver, 0x14)[1]["num_of_nodes"] == 1
    room = driver.device.memory.space.allocate(APERTURES.size).start
    assert ask(driver, 0x14, num_of_nodes=1, process_device_apertures_ptr=room)[0] == 0
    found = APERTURES.unpack(driver.device.host.read(room, APERTURES.size))
    assert found["scratch_limit"] == (0x2_0000 << 32) + 0xFFFF_FFFF
    assert ask(driver, 0x14, num_of_nodes=1, process_device_apertures_ptr=room + 8)[0] == EFAULT


def test_what_no_call_is() -> None:
    driver = Process().driver
    command = CALLS[0x03].command
    for wrong in (0, command ^ 1 << 31, command + (1 << 16), command ^ 1 << 8, 0xC0084BFF, 1 << 40):
        assert call(driver, wrong, bytes(8)) == (EINVAL, bytes(8))
    assert call(driver, command, bytes(7)) == (EINVAL, bytes(7))


# ---------------------------------------------------------------------- any bytes


def state_of(process: Process) -> object:
    """Everything that a call may change."""
    device, driver = process.bench.device, process.driver
    space = device.memory.space
    return (
        [(each.link.state, each.link.cus, each.link.ring, each.link.priority)
         for each in device.queues],
        [link.id for link in device.machine.scheduler.mapped],
        (space.extent, [(each.start, each.size) for each in space.allocations]),
        (dict(driver._queues), dict(driver._events), dict(driver._seen), set(driver._set)),
        (driver.memory.used, {key: each.mapped for key, each in driver.memory._held.items()}),
    )  # fmt: skip


def structures_of(process: Process) -> st.SearchStrategy[tuple[int, bytes]]:
    """Commands with structures, many of whose fields mean something."""
    request = process.request()
    addresses = (request.ring_base, request.read_pointer, request.write_pointer, process.doorbell)
    numbers = (0, 1, 2, 3, 4, 15, 16, 32, 64, 100, 1 << 10, 1 << 16, 1 << 31, (1 << 32) - 1)
    large = (1 << 63, (1 << 64) - 1, process.driver.doorbells, 1 << 32 | 1)
    value = st.sampled_from([*addresses, *numbers, *large]) | st.integers(0, (1 << 64) - 1)

    def of(number: int) -> st.SearchStrategy[tuple[int, bytes]]:
        row = CALLS[number]
        fields = {
            field.name: value.map(lambda each, size=field.size: each & (1 << 8 * size) - 1)
            for field in row.layout.fields
        }
        return st.tuples(st.just(row.command), st.fixed_dictionaries(fields).map(row.layout.pack))

    some = st.sampled_from(sorted(CALLS)).flatmap(of)
    return some | st.tuples(st.integers(0, (1 << 33) - 1), st.binary(max_size=96))


@settings(max_examples=8, deadline=None)
@given(st.data())
def test_any_bytes_end_in_a_code_and_a_code_changes_nothing(data: st.DataObject) -> None:
    process = Process()
    ask(process.driver, 0x15, gpu_id=1, drm_fd=5)
    process.create()
    known = structures_of(process)
    for command, structure in data.draw(st.lists(known, min_size=20, max_size=40)):
        before = state_of(process)
        code, after = call(process.driver, command, structure)
        assert code in (0, *(-number for number in CODES.values()))
        if code:
            assert after == structure
            assert state_of(process) == before
    process.bench.device.run()
