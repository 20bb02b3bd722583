"""The table of agents, memories and caches says what a device is made of."""

from __future__ import annotations

import numpy as np

from gpu import Device
from gpu.dispatch.occupancy import Limits
from gpu.host.topology import AgentType, CacheLevel, Segment
from gpu.memory.coherent.factory import load_system
from tests.gpu.memory.coherent.opened import python_memory


def test_a_device_without_caches() -> None:
    device = Device(cus=6, limits=Limits(lds=32768))
    table = device.topology
    host, component = table.agents
    assert host.type == AgentType.HOST | AgentType.AGENT_DISPATCH
    assert table.components == (component,)
    assert (component.name, component.compute_units, component.wavefront_size) == ("gfx803", 6, 64)
    assert component.group_memory_size == table.memories[1].size == 32768
    assert component.caches == table.caches == ()
    assert {agent.node for agent in table.agents} == set(table.nodes)


def test_ids_name_what_there_is() -> None:
    table = Device(memory=python_memory(load_system("GPU_VIPER", cus=8, tccs=4))).topology
    for agent in table.agents:
        assert set(agent.memories) <= {memory.id for memory in table.memories}
        assert set(agent.caches) <= {cache.id for cache in table.caches}
    uses = {cache.use: cache for cache in table.caches}
    assert uses["vector"].count == 8 and uses["vector"].levels == (CacheLevel(16384, 64, 4),)
    assert uses["scalar"].count == uses["instruction"].count == 2
    assert uses["instruction"].levels == (CacheLevel(32768, 64, 4),)
    assert uses["shared"].count == 4
    assert sum(level.size for level in uses["shared"].levels) * 4 == 2 << 20


def test_the_settings_show() -> None:
    settings = {"machine.Vector.cache.L1cache.sets": 16}
    device = Device("GPU_VIPER", cus=1, engine="python", settings=settings)
    assert device.topology.caches[0].levels[0].size == 16 * 4 * 64


def test_addresses_are_in_the_global_memory() -> None:
    device = Device(cus=1)
    memory = device.topology.memories[0]
    assert Segment.GLOBAL in memory.segments
    buffer = device.alloc(np.zeros(4, np.int32))
    assert memory.base <= buffer.address < memory.base + memory.size
    queue = device.create_queue(1 << 4)
    assert queue.size * 64 <= device.topology.components[0].queue_size
