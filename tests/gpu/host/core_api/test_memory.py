"""Registered ranges and component-local memory."""

from __future__ import annotations

import numpy as np

from gpu.host.core_api.status import Status
from tests.gpu.host.core_api.opened import opened

INVALID, SUCCESS = Status.ERROR_INVALID_ARGUMENT, Status.SUCCESS


def test_registration() -> None:
    made = opened()
    runtime = made.runtime
    base = runtime.device.alloc(np.zeros(16, np.uint8)).address
    assert runtime.memory_register(base, 16) is SUCCESS
    assert runtime.memory_register(base, 8) is SUCCESS
    assert runtime.memory_register(base + 4, 8) is SUCCESS
    assert runtime.registered == {base: 16, base + 4: 8}
    assert runtime.memory_register(base, 20) is INVALID
    assert runtime.memory_register(base, 0) is INVALID
    assert runtime.memory_register(0, 8) is INVALID
    assert runtime.memory_register(runtime.device.doorbells, 8) is INVALID
    assert runtime.memory_deregister(base) is SUCCESS
    assert runtime.memory_deregister(base) is Status.INFO_NOT_REGISTERED
    assert runtime.memory_deregister(base + 8) is Status.INFO_NOT_REGISTERED
    assert runtime.memory_deregister(0) is INVALID
    assert runtime.registered == {base + 4: 8}


def test_component_local_memory() -> None:
    made = opened()
    runtime, component = made.runtime, made.component
    assert runtime.memory_allocate_component_local(component, 0) == (SUCCESS, 0)
    assert runtime.memory_allocate_component_local(component, -1) == (INVALID, None)
    assert runtime.memory_allocate_component_local(None, 8) == (INVALID, None)
    status, local = runtime.memory_allocate_component_local(component, 1 << 60)
    assert (status, local) == (Status.ERROR_OUT_OF_RESOURCES, None)
    _, local = runtime.memory_allocate_component_local(component, 32)
    assert local is not None
    system = runtime.device.alloc(np.zeros(32, np.uint8))
    runtime.device.host.write(local, bytes(range(32)))
    copy = runtime.memory_copy_component_local_to_system
    assert copy(system.address, local, 32) is SUCCESS
    assert system.numpy().tolist() == list(range(32))
    assert copy(system.address, local, 33) is INVALID
    assert copy(system.address + 1, local, 32) is INVALID
    assert copy(local, local, 8) is INVALID
    assert copy(system.address, system.address, 8) is INVALID
    assert copy(system.address, local, -1) is INVALID
    assert runtime.memory_register(local, 8) is INVALID
    assert runtime.memory_free_component_local(local + 4) is INVALID
    assert runtime.memory_free_component_local(local) is SUCCESS
    assert runtime.memory_free_component_local(local) is INVALID
    assert runtime.memory_free_component_local(0) is SUCCESS
    assert copy(system.address, local, 8) is INVALID
