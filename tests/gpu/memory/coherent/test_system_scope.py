"""Fences of system scope, with a shared cache that keeps stores: what other agents see."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gpu import Buffer, Device, Signal
from gpu.memory.coherent.factory import LoadedSystem, load_system
from gpu.memory.coherent.system_scope import SharedLines
from gpu.systems import DIRECTORY
from runtime.description import DescriptionError
from runtime.requesters.port import AccessKind
from tests.gpu.kernels.stored import stored
from tests.gpu.memory.coherent.streams import ENGINES, on_engine
from tests.planted.bug import PROTOCOLS, Edit
from tests.sampling import sampled

KEEPS = {"machine.TCC.parameters.WB": True}
COUNT = 64


@cache
def apu(keeps: bool = True) -> LoadedSystem:
    return load_system("GPU_VIPER_APU", cus=2, tccs=2, settings=KEEPS if keeps else None)


class Machine:
    """A GPU with a write-back shared cache beside a pair of processors."""

    def __init__(self, loaded: LoadedSystem) -> None:
        memory = on_engine(loaded, "python")
        self.device = Device(memory=memory)
        self.queue = self.device.create_queue()
        core = self.device.cpu(0)
        self.load, self.store = core.load, core.store

    def add(self, a: Buffer, b: Buffer, c: Buffer, acquire: str, release: str) -> None:
        """Dispatch c = a + b and wait until it is complete."""
        done = Signal(1)
        kernel = stored("vadd")["vadd_i"]
        self.queue.dispatch(
            kernel, COUNT, 64, [a, b, c], completion=done, acquire=acquire, release=release
        )
        self.queue.ring()
        self.device.run(until=done)
        self.device.settle()

    def buffers(self, mtype: str = "rw") -> tuple[Buffer, Buffer, Buffer]:
        x = np.arange(COUNT, dtype=np.int32)
        return (
            self.device.alloc(x),
            self.device.alloc(x * 10),
            self.device.alloc_like(x, mtype=mtype),
        )


@pytest.mark.parametrize(
    ("release", "mtype", "fresh"),
    [("system", "rw", True), ("agent", "rw", False), ("none", "rw", False), ("agent", "cc", True)],
)
def test_a_processor_reads_what_a_kernel_stored(release: str, mtype: str, fresh: bool) -> None:
    """It has the line from before. Only memory that is coherent at every access needs no fence."""
    machine = Machine(apu())
    a, b, c = machine.buffers(mtype)
    assert machine.load(c.address + 8) == 0
    machine.add(a, b, c, "system", release)
    assert machine.load(c.address + 8) == (22 if fresh else 0)


def test_what_an_agent_release_leaves_a_later_system_release_writes_back() -> None:
    machine = Machine(apu())
    a, b, c = machine.buffers()
    machine.load(c.address)
    machine.add(a, b, c, "system", "agent")
    done = Signal(1)
    machine.queue.barrier_and([], completion=done, release="system")
    machine.queue.ring()
    machine.device.run(until=done)
    machine.device.settle()
    assert machine.load(c.address + 4) == 11


def test_a_release_that_writes_nothing_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above would notice."""
    monkeypatch.setattr(SharedLines, "steps", lambda self, kind: [])
    machine = Machine(apu())
    a, b, c = machine.buffers()
    machine.load(c.address + 8)
    machine.add(a, b, c, "system", "system")
    assert machine.load(c.address + 8) == 0


@pytest.mark.parametrize("keeps", [True, False])
def test_a_kernel_reads_what_a_processor_stored(keeps: bool) -> None:
    """The shared cache has the line from a kernel before: the directory's probe takes it away."""
    machine = Machine(apu(keeps))
    a, b, c = machine.buffers()
    machine.add(a, b, c, "system", "system")
    machine.store(a.address + 12, 1000)
    machine.add(a, b, c, "system", "system")
    assert machine.load(c.address + 12) == 1030
    np.testing.assert_array_equal(c.numpy()[:5], [0, 11, 22, 1030, 44])


def test_counting_back_and_forth() -> None:
    """Sixteen hand-overs of one word, each by system fences alone."""
    machine = Machine(apu())
    a, b, c = machine.buffers()
    for turn in range(8):
        machine.store(a.address, turn * 100)
        machine.add(a, b, c, "system", "system")
        assert machine.load(c.address) == turn * 100
        assert machine.load(c.address + 4) == 11


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("release", "there"), [("system", True), ("agent", False)])
def test_memory_itself_has_it(engine: str, release: str, there: bool) -> None:
    loaded = load_system("GPU_VIPER", cus=2, tccs=2, settings=KEEPS, native=True)
    memory = on_engine(loaded, engine)
    device = Device(memory=memory)
    x = np.arange(5000, dtype=np.int32)
    a, b, c = device.alloc(x), device.alloc(x), device.alloc_like(x)
    done = Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("vadd")["vadd_i"], 5000, 256, [a, b, c], completion=done, release=release)
    queue.ring()
    device.run(until=done)
    found = np.frombuffer(memory.backend.peek(c.address, 20000), np.int32)
    assert np.array_equal(found, x * 2) == there
    np.testing.assert_array_equal(c.numpy(), x * 2)


@pytest.mark.parametrize("seed", sampled([1, 2, 3], 3))
def test_kernels_beside_each_other_lose_nothing(seed: int) -> None:
    """One kernel's release flushes while others store, some of them into the same lines."""
    settings = {**KEEPS, "network.delays": "heavy_tail"}
    memory = on_engine(load_system("GPU_VIPER", cus=2, tccs=2, settings=settings), "python", seed)
    device = Device(memory=memory)
    x = np.arange(72, dtype=np.int32)
    whole = device.alloc_like(np.zeros(72 * 8, np.int32))
    a, queues = device.alloc(x), [device.create_queue() for _ in range(4)]
    kernel = stored("vadd")["vadd_i"]
    signals = []
    for part in range(8):
        done = device.signal(1)
        where = whole.address + 4 * 72 * part  # parts meet in the middle of a line
        queues[part % 4].dispatch(kernel, 72, 64, [a, a, where], completion=done)
        signals.append((where, done))
    for queue in queues:
        queue.ring()
    for where, done in signals:
        device.run(until=done)
        found = np.frombuffer(memory.backend.peek(where, 4 * 72), np.int32)
        np.testing.assert_array_equal(found, x * 2)


# ------------------------------------------------------------------ what a protocol can do

TCC, TCP = "GPU_VIPER-TCC.sm", "GPU_VIPER-TCP.sm"
DIRTY = "transition({M, W}, {RdBypassEvict, WrVicBlkEvict, AtomicPassOn, Flush}, WI)"
NO_FLUSH = Edit(DIRTY, "transition({M, W}, {RdBypassEvict, WrVicBlkEvict, AtomicPassOn}, WI)")
NO_WAY = Edit(DIRTY, "transition({M, W}, {WrVicBlkEvict, AtomicPassOn}, WI)")
UNPROBED = Edit("    d_freeFrame;\n", "", "transition(V, PrbInv, I)")
STAYS = Edit("transition(V, PrbInv, I)", "transition(V, PrbInv)")
INVALIDATES = (
    Edit("    Flush,       desc", '    InvL2, desc="Drop it below";\n    Flush,       desc'),
    Edit(
        "    F,  AccessP", '    FI, AccessPermission:Busy, desc="Dropped below";\n    F,  AccessP'
    ),
    Edit(
        "        } else if (in_msg.Type == RubyRequestType:FLUSH) {",
        "        } else if (in_msg.Type == RubyRequestType:InvL2) {\n"
        "          trigger(Event:InvL2, in_msg.LineAddress, cache_entry, tbe);\n"
        "        } else if (in_msg.Type == RubyRequestType:FLUSH) {",
    ),
    Edit(
        "  transition(I, Flush, F) {TagArrayRead} {",
        """  action(id_invalidated, "id", desc="Report that it is dropped") {
    coalescer.invTCCCallback(address);
  }
  transition(I, InvL2, FI) {
    v_allocateTBE;
    fl_issueFlush;
    p_popMandatoryQueue;
  }
  transition(V, InvL2, FI) {
    d_freeFrame;
    v_allocateTBE;
    fl_issueFlush;
    p_popMandatoryQueue;
  }
  transition(FI, TCC_AckFlush, I) {
    id_invalidated;
    w_freeTBE;
    pr_popResponse;
  }

  transition(I, Flush, F) {TagArrayRead} {""",
    ),
)
ROWS = """
[agents.waves]
requester = "gpu"
[agents.processors]
requester = "cpu"
[[handover]]
giver = "processors"
taker = "waves"
taker_steps = ["invalidate_l2", "acquire"]
"""


def changed(
    directory: Path,
    edits: Mapping[str, Sequence[Edit]],
    name: str = "GPU_VIPER",
    rows: str = "",
    keeps: bool = True,
) -> LoadedSystem:
    """The system of a protocol with some of its text changed."""
    for path in PROTOCOLS.glob("*.s*"):
        shutil.copy(path, directory / path.name)
    for file, several in edits.items():
        text = (directory / file).read_text(encoding="utf-8")
        for edit in several:
            text = edit.apply(text)
        (directory / file).write_text(text, encoding="utf-8")
    system = directory / "system.toml"
    system.write_text((DIRECTORY / f"{name}.toml").read_text(encoding="utf-8") + rows, "utf-8")
    settings = KEEPS if keeps else None
    return load_system(
        str(directory / f"{name}.slicc"), cus=2, tccs=2, system=system, settings=settings
    )


def test_a_load_past_the_cache_serves_where_there_is_no_flush(tmp_path: Path) -> None:
    loaded = changed(tmp_path, {TCC: [NO_FLUSH]}, "GPU_VIPER_APU")
    assert loaded.kernel.system_scope.writes_back == AccessKind.LOAD
    machine = Machine(loaded)
    a, b, c = machine.buffers()
    assert machine.load(c.address + 8) == 0
    machine.add(a, b, c, "system", "system")
    assert machine.load(c.address + 8) == 22


def test_a_protocol_that_cannot_write_back_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"TCC of GPU_VIPER keeps stores.*states M, W: a "):
        changed(tmp_path, {TCC: [NO_WAY]})
    changed(tmp_path, {TCC: [NO_WAY]}, keeps=False)


def test_a_protocol_that_cannot_invalidate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="asks for invalidate_l2, but TCP of GPU_VIPER_APU"):
        changed(tmp_path, {}, "GPU_VIPER_APU", ROWS)


@pytest.mark.parametrize("keeps", sampled([True, False], 2))
@pytest.mark.parametrize(("rows", "fresh"), [("", False), (ROWS, True)])
def test_an_acquire_drops_what_no_probe_drops(
    rows: str, fresh: bool, keeps: bool, tmp_path: Path
) -> None:
    """A shared cache that ignores the directory's probes, and says what it needs instead."""
    edits = {TCC: [UNPROBED, STAYS], TCP: INVALIDATES}
    machine = Machine(changed(tmp_path, edits, "GPU_VIPER_APU", rows, keeps))
    a, b, c = machine.buffers()
    machine.add(a, b, c, "system", "system")
    machine.store(a.address + 12, 1000)
    machine.add(a, b, c, "agent", "system")
    assert machine.load(c.address + 12) == 33, "agent scope reaches the shared cache"
    machine.add(a, b, c, "system", "system")
    assert machine.load(c.address + 12) == (1030 if fresh else 33)
