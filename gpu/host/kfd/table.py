"""The calls as bytes: a command and a structure in, an error number and the structure out.

A command has the form of Linux's: number, letter ``K``, bytes of the structure, direction. Pointers
in structures are addresses of the device's memory, which the process shares. Invariant: whatever
the bytes are, the result is 0 or a code of `CODES`; a call that has a code has changed nothing.

Source: the public headers ``kfd_ioctl.h`` and ``ioctl.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from gpu.errors import GpuError
from gpu.host.kfd import structures
from gpu.host.kfd.driver import CreateQueue, Driver
from gpu.host.kfd.memory import NodeApertures
from gpu.host.kfd.refusals import CODES, DriverError, Number
from gpu.host.kfd.structures import Direction
from gpu.hsa.struct_layout import Layout
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.events import SLOTS
from slicc.text.lazy_dataclass import dataclass

LETTER: Final = ord("K")
VERSION: Final = (1, 11)
MOST_MASK_BITS: Final = 1024
MOST_GPUS: Final = 64
FOR_EVER: Final = 0xFFFF_FFFF
SIGNAL_EVENT: Final = 0

Fields = Mapping[str, int]
Perform = Callable[[Driver, Fields], Fields]
"""What a call does with the fields of its structure; the fields that it sets."""


@dataclass(frozen=True, slots=True)
class Call:
    """One row. ``layout``: of the structure, both ways."""

    number: int
    layout: Layout
    direction: Direction
    perform: Perform

    @property
    def command(self) -> int:
        """What a program passes."""
        return self.direction << 30 | self.layout.size << 16 | LETTER << 8 | self.number


def call(driver: Driver, command: int, data: bytes) -> tuple[int, bytes]:
    """0 or the negative number of the error, and the structure as it is afterwards."""
    try:
        row = _row(command, data)
        changed = row.perform(driver, row.layout.unpack(data))
    except DriverError as error:
        return -error.number, data
    except Unmapped:
        return -CODES["EFAULT"], data
    except GpuError:  # of a queue, while the call waited
        return -CODES["EIO"], data
    return 0, row.layout.change(data, changed)


def _row(command: int, data: bytes) -> Call:
    """Raises DriverError for a command that is no call's, or a structure of another size."""
    number = command & 0xFF
    row = CALLS.get(number)
    if row is None:
        raise DriverError("EINVAL", number, "there is no such call")
    if command != row.command:
        raise DriverError("EINVAL", number, f"its command is {row.command:#x}, not {command:#x}")
    if len(data) != row.layout.size:
        raise DriverError("EINVAL", number, f"{row.layout.size} bytes, not {len(data)}")
    return row


# ---------------------------------------------------------------------- arrays in memory


def _array(driver: Driver, address: int, count: int, size: int) -> list[bytes]:
    """Elements of an array. Raises Unmapped."""
    driver.device.memory.space.at(address, count * size, loads=True)
    data = driver.device.host.read(address, count * size)
    return [data[place : place + size] for place in range(0, len(data), size)]


def _checked_count(number: int, what: str, count: int, most: int) -> int:
    if not 1 <= count <= most:
        raise DriverError("EINVAL", number, f"1 to {most} {what}, not {count}")
    return count


# ---------------------------------------------------------------------- queues


def _create_queue(driver: Driver, fields: Fields) -> Fields:
    made = driver.create_queue(
        CreateQueue(
            ring_base=fields["ring_base_address"],
            ring_size=fields["ring_size"],
            read_pointer=fields["read_pointer_address"],
            write_pointer=fields["write_pointer_address"],
            gpu_id=fields["gpu_id"],
            type=fields["queue_type"],
            percentage=fields["queue_percentage"],
            priority=fields["queue_priority"],
            eop_buffer=fields["eop_buffer_address"],
            eop_size=fields["eop_buffer_size"],
            save_area=fields["ctx_save_restore_address"],
            save_size=fields["ctx_save_restore_size"],
            control_stack_size=fields["ctl_stack_size"],
        )
    )
    return {"doorbell_offset": made.doorbell, "queue_id": made.id}


def _destroy_queue(driver: Driver, fields: Fields) -> Fields:
    driver.destroy_queue(fields["queue_id"])
    return {}


def _update_queue(driver: Driver, fields: Fields) -> Fields:
    driver.update_queue(
        fields["queue_id"],
        fields["ring_base_address"],
        fields["ring_size"],
        fields["queue_percentage"],
        fields["queue_priority"],
    )
    return {}


def _set_cu_mask(driver: Driver, fields: Fields) -> Fields:
    bits = _checked_count(
        Number.SET_CU_MASK, "bits of a mask", fields["num_cu_mask"], MOST_MASK_BITS
    )
    words = _array(driver, fields["cu_mask_ptr"], bits // 32, 4) if bits % 32 == 0 else []
    mask = int.from_bytes(b"".join(words), "little")
    driver.set_cu_mask(fields["queue_id"], bits, mask)
    return {}


def _get_wave_state(driver: Driver, fields: Fields) -> Fields:
    stack, waves = driver.get_wave_state(fields["queue_id"], fields["ctl_stack_address"])
    return {"ctl_stack_used_size": stack, "save_area_used_size": waves}


def _alloc_gws(driver: Driver, fields: Fields) -> Fields:
    raise DriverError("ENODEV", Number.ALLOC_GWS, "the GPU has no global wave synchronisation")


# ---------------------------------------------------------------------- events


def _create_event(driver: Driver, fields: Fields) -> Fields:
    if fields["event_type"] != SIGNAL_EVENT:
        kind = fields["event_type"]
        raise DriverError("EINVAL", Number.CREATE_EVENT, f"events of type {kind} never happen here")
    event = driver.create_event(auto_reset=bool(fields["auto_reset"]))
    page = driver.device.events.base
    return {
        "event_page_offset": page,
        "event_trigger_data": event.id,
        "event_id": event.id,
        "event_slot_index": event.id,
    }


def _of_event(method: Callable[[Driver, int], None]) -> Perform:
    def perform(driver: Driver, fields: Fields) -> Fields:
        method(driver, fields["event_id"])
        return {}

    return perform


def _wait_events(driver: Driver, fields: Fields) -> Fields:
    count = _checked_count(Number.WAIT_EVENTS, "events", fields["num_events"], SLOTS)
    layout = structures.EVENT_DATA
    entries = _array(driver, fields["events_ptr"], count, layout.size)
    timeout = fields["timeout"]
    result = driver.wait_events(
        [layout.unpack(each)["event_id"] for each in entries],
        wait_for_all=bool(fields["wait_for_all"]),
        timeout=None if timeout == FOR_EVER else timeout * driver.node.ticks_a_millisecond,
    )
    return {"wait_result": result}


# ---------------------------------------------------------------------- memory, the device


def _acquire_vm(driver: Driver, fields: Fields) -> Fields:
    driver.memory.acquire_vm(fields["gpu_id"], fields["drm_fd"])
    return {}


def _alloc_memory(driver: Driver, fields: Fields) -> Fields:
    handle, address = driver.memory.alloc(
        fields["gpu_id"], fields["size"], fields["flags"], fields["va_addr"]
    )
    return {"handle": handle, "va_addr": address}


def _free_memory(driver: Driver, fields: Fields) -> Fields:
    driver.memory.free(fields["handle"])
    return {}


def _map_memory(driver: Driver, fields: Fields) -> Fields:
    gpus = _gpus(driver, Number.MAP_MEMORY, fields)
    return {"n_success": driver.memory.map(fields["handle"], gpus)}


def _unmap_memory(driver: Driver, fields: Fields) -> Fields:
    gpus = _gpus(driver, Number.UNMAP_MEMORY, fields)
    return {"n_success": driver.memory.unmap(fields["handle"], gpus)}


def _gpus(driver: Driver, number: int, fields: Fields) -> list[int]:
    count = _checked_count(number, "GPUs", fields["n_devices"], MOST_GPUS)
    words = _array(driver, fields["device_ids_array_ptr"], count, 4)
    return [int.from_bytes(each, "little") for each in words]


def _aperture_fields(node: NodeApertures) -> Fields:
    return {
        "lds_base": node.lds[0],
        "lds_limit": node.lds[1],
        "scratch_base": node.scratch[0],
        "scratch_limit": node.scratch[1],
        "gpuvm_base": node.gpuvm[0],
        "gpuvm_limit": node.gpuvm[1],
        "gpu_id": node.gpu_id,
    }


def _apertures_old(driver: Driver, fields: Fields) -> Fields:
    nodes = driver.memory.apertures[: structures.MOST_OLD_NODES]
    found = {
        f"{name}_{place}": value
        for place, node in enumerate(nodes)
        for name, value in _aperture_fields(node).items()
    }
    return found | {"num_of_nodes": len(nodes)}


def _apertures_new(driver: Driver, fields: Fields) -> Fields:
    """With room for 0 nodes, only how many there are."""
    nodes = driver.memory.apertures
    wanted = nodes[: fields["num_of_nodes"]]
    layout = structures.APERTURES
    data = b"".join(layout.pack(_aperture_fields(node)) for node in wanted)
    if data:
        address = fields["process_device_apertures_ptr"]
        driver.device.memory.space.at(address, len(data), loads=True, writes=True)
        driver.device.host.write(address, data)
    return {"num_of_nodes": len(wanted) if wanted else len(nodes)}


def _get_version(driver: Driver, fields: Fields) -> Fields:
    major, minor = VERSION
    return {"major": major, "minor": minor}


def _get_clocks(driver: Driver, fields: Fields) -> Fields:
    """One clock: ticks."""
    gpu_id = fields["gpu_id"]
    if gpu_id and gpu_id != driver.node.gpu_id:
        raise DriverError("EINVAL", Number.GET_CLOCKS, f"no GPU has the id {gpu_id}")
    now = driver.device.now
    return {
        "gpu_clock_counter": now,
        "cpu_clock_counter": now,
        "system_clock_counter": now,
        "system_clock_freq": driver.node.ticks_a_millisecond * 1000,
    }


# ---------------------------------------------------------------------- the table

_IN, _OUT, _BOTH = Direction.IN, Direction.OUT, Direction.BOTH
_ROWS: Final = (
    Call(Number.GET_VERSION, structures.VERSION, _OUT, _get_version),
    Call(Number.CREATE_QUEUE, structures.CREATE_QUEUE, _BOTH, _create_queue),
    Call(Number.DESTROY_QUEUE, structures.DESTROY_QUEUE, _BOTH, _destroy_queue),
    Call(Number.GET_CLOCKS, structures.CLOCK_COUNTERS, _BOTH, _get_clocks),
    Call(Number.GET_APERTURES, structures.PROCESS_APERTURES, _OUT, _apertures_old),
    Call(Number.UPDATE_QUEUE, structures.UPDATE_QUEUE, _IN, _update_queue),
    Call(Number.CREATE_EVENT, structures.CREATE_EVENT, _BOTH, _create_event),
    Call(Number.DESTROY_EVENT, structures.EVENT, _IN, _of_event(Driver.destroy_event)),
    Call(Number.SET_EVENT, structures.EVENT, _IN, _of_event(Driver.set_event)),
    Call(Number.RESET_EVENT, structures.EVENT, _IN, _of_event(Driver.reset_event)),
    Call(Number.WAIT_EVENTS, structures.WAIT_EVENTS, _BOTH, _wait_events),
    Call(Number.GET_APERTURES_NEW, structures.PROCESS_APERTURES_NEW, _BOTH, _apertures_new),
    Call(Number.ACQUIRE_VM, structures.ACQUIRE_VM, _IN, _acquire_vm),
    Call(Number.ALLOC_MEMORY, structures.ALLOC_MEMORY, _BOTH, _alloc_memory),
    Call(Number.FREE_MEMORY, structures.FREE_MEMORY, _IN, _free_memory),
    Call(Number.MAP_MEMORY, structures.MAP_MEMORY, _BOTH, _map_memory),
    Call(Number.UNMAP_MEMORY, structures.MAP_MEMORY, _BOTH, _unmap_memory),
    Call(Number.SET_CU_MASK, structures.CU_MASK, _IN, _set_cu_mask),
    Call(Number.GET_WAVE_STATE, structures.WAVE_STATE, _BOTH, _get_wave_state),
    Call(Number.ALLOC_GWS, structures.GWS, _BOTH, _alloc_gws),
)
CALLS: Final[Mapping[int, Call]] = {row.number: row for row in _ROWS}
"""All calls, by number."""
