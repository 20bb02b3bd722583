"""Recordings as files: what is saved is loaded again, and other files are refused with a
message."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from gpu.memory.address_space import PAGE
from gpu.memory.coherent.factory import EngineChoice, choose_engine
from gpu.memory.coherent.recording import Recording, replay
from gpu.memory.coherent.recording_file import MAGIC, VERSION, BadRecording, Origin, load, save
from gpu.memory.interface import MemoryRequest, Ports
from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind
from tests.gpu.memory.coherent.streams import PROTOCOLS, ask, drive, loaded, opened, words

ORIGIN = Origin("GPU_VIPER", 2, 1, 2, 5, "", {"network.delays": "uniform"}, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_loaded_recording_makes_the_same_transitions(protocol: str, tmp_path: Path) -> None:
    memory = opened(protocol, delays="uniform", seed=5)
    counts = {"cpus": memory.ports.cpus, "dmas": memory.ports.dmas}
    recording = memory.record()
    drive(memory, 5)
    path = tmp_path / "one.rec"
    save(recording, replace(ORIGIN, ticks=memory.now, **counts), path)
    read, origin = load(path)
    assert origin == replace(ORIGIN, ticks=memory.now, **counts)
    assert [tick for tick, _ in read.events] == [tick for tick, _ in recording.events]
    system = loaded(protocol, 2, 2, "uniform")
    again = choose_engine(system, EngineChoice.python, 5, read.space()).memory
    assert replay(read, again).late == 0
    assert again.now == memory.now and again.executed() == memory.executed()
    save(read, origin, tmp_path / "two.rec")
    assert (tmp_path / "two.rec").read_bytes() == path.read_bytes()


def recorded(tmp_path: Path) -> Path:
    """A store to a doorbell, an atomic with comparands, and accesses of the host, in a file."""
    memory = opened("GPU_VIPER")
    recording = memory.record()
    bells = memory.space.map_doorbells(PAGE, lambda address, data: None)
    start = memory.space.allocate(64, memory_type="cc", name="here").start
    memory.write(start, b"\5" + bytes(7))
    data = np.full((1, 4), 1, np.uint8)
    ask(memory, MemoryRequest(0, AccessKind.STORE, 1, words(bells.start), 4, data))
    five = np.array([[5, 0, 0, 0]], np.uint8)
    swap = MemoryRequest(0, AccessKind.ATOMIC, 2, words(start), 4, data, five, int(AtomicKind.CAS))
    swap.returns = True
    ask(memory, swap)
    assert memory.read(start, 4) == b"\1\1\1\1"
    path = tmp_path / "small.rec"
    save(recording, ORIGIN, path)
    return path


def test_every_field_comes_back(tmp_path: Path) -> None:
    read, _ = load(recorded(tmp_path))
    bells, here = read.allocations
    assert bells.on_store is not None and here.on_store is None
    assert (here.name, here.memory_type.value, here.size, here.writable) == ("here", "cc", 64, True)
    again = choose_engine(loaded("GPU_VIPER"), EngineChoice.python, 1, read.space()).memory
    assert replay(read, again).late == 0
    assert again.read(here.start, 4) == b"\1\1\1\1"


def test_ports_of_processors(tmp_path: Path) -> None:
    """Files from before there were any say nothing of them."""
    path = changed(recorded(tmp_path), lambda content: content["origin"].pop("cpus") and None)
    assert load(path)[1] == ORIGIN
    core = Ports(ORIGIN.cus, ORIGIN.sqcs, 2).cpu(1)
    with pytest.raises(BadRecording, match=f"event 1: .*there is no port {core}"):
        load(changed(path, put("events", 1, 1, core)))
    load(changed(path, lambda content: content["origin"].update(cpus=2)))


@pytest.mark.parametrize("left", [0, 3, len(MAGIC) + 1, len(MAGIC) + 4, -1])
def test_a_file_that_is_cut_off(tmp_path: Path, left: int) -> None:
    path = recorded(tmp_path)
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(BadRecording, match=rf"{path.name}: (no recording|a recording of|cut off)"):
        load(path)


def test_a_file_of_another_version(tmp_path: Path) -> None:
    path = tmp_path / "later.rec"
    path.write_bytes(MAGIC + b"2\nxyz")
    with pytest.raises(BadRecording, match="of version '2'; version 1 is read"):
        load(path)


def changed(path: Path, change: Any) -> Path:
    """The file with other content and the sum that belongs to it."""
    start = len(MAGIC) + len(VERSION)
    content = msgpack.unpackb(path.read_bytes()[start + 4 :])
    content = change(content) or content
    packed = msgpack.packb(content)
    sum_ = zlib.crc32(packed).to_bytes(4, "little")
    path.write_bytes(MAGIC + VERSION + sum_ + packed)
    return path


def put(where: str, number: int, field: int, value: Any) -> Any:
    def change(content: Any) -> None:
        content[where][number][field] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda content: [1, 2], "no map of origin, allocations and events"),
        (lambda content: {"origin": content["origin"]}, "no map of origin, allocations and events"),
        (lambda content: content.update(origin={}), "origin: no map of protocol, cus, sqcs"),
        (lambda content: content["origin"].update(more=1), "origin: no map of protocol, cus, "),
        (lambda content: content["origin"].update(seed="x"), "origin: seed = 'x'"),
        (lambda content: content["origin"].update(seed=-1), "origin: seed = -1"),
        (lambda content: content["origin"].update(cus=1 << 40), "1099511627776 compute units"),
        (lambda content: content["origin"].update(settings={b"x": 1}), "origin: a setting of b'x'"),
        (lambda content: content.update(events=5), "events: 5 is no list"),
        (
            lambda content: content["events"].append([1, 2]),
            r"event 4: \[1, 2\] is no row of tick, ",
        ),
        (lambda content: content["events"].append(7), "event 4: 7 is no row of tick, port"),
        (put("events", 3, 0, 0), "event 3: tick 0, after tick [1-9]"),
        (
            lambda content: content["allocations"].append(content["allocations"][0][:3]),
            r"allocation 2: \[.*\] is no row of start, bytes, end",
        ),
        (put("allocations", 1, 0, 1 << 32), "allocation 1: here at 0x100000000, 64 bytes is not"),
        (put("allocations", 0, 0, 17), "allocation 0: 4096 bytes from 17 to "),
        (put("allocations", 0, 2, 1 << 63), "allocation 0: 4096 bytes from 4294967296 to 92233"),
        (put("allocations", 0, 1, b"\0"), r"allocation 0: bytes: b'\\x00'"),
        (put("allocations", 1, 4, "xy"), "allocation 1: 'xy' is not a valid MemoryType"),
        (put("events", 0, 1, -5), "event 0: address: -5"),
        (put("events", 0, 3, b"\1"), "event 0: 1 bytes written, not 8"),
        (put("events", 1, 0, float("nan")), "event 1: tick: nan"),
        (put("events", 1, 1, 99), "event 1: STORE request, tag 0: there is no port 99"),
        (put("events", 1, 2, 77), "event 1: kind: 77"),
        (put("events", 1, 2, 5), "event 1: FLUSH request, tag 0: only the front end writes back"),
        (put("events", 1, 6, b"\1"), "event 1: 1 bytes of addresses"),
        (put("events", 1, 6, "x"), "event 1: addresses: 'x'"),
        (put("events", 1, 7, b"\1\1\1"), "event 1: 3 bytes of data, not 4 for each of 1 lanes"),
        (put("events", 2, 8, None), "event 2: .* without one comparand per lane"),
    ],
)
def test_content_that_is_wrong(tmp_path: Path, change: Any, why: str) -> None:
    with pytest.raises(BadRecording, match=why):
        load(changed(recorded(tmp_path), change))


def test_an_empty_recording_is_one(tmp_path: Path) -> None:
    path = tmp_path / "none.rec"
    save(Recording(), ORIGIN, path)
    read, origin = load(path)
    assert read.events == [] and origin == ORIGIN
