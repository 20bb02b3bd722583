"""Core files are read back as they were written; damaged ones are refused with a reason."""

from __future__ import annotations

import re
import struct
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu import Buffer, CodeObject, Device
from gpu.errors import KernelError
from gpu.host.core_files.layout import (
    AGENT,
    PROGRAM_HEADER,
    QUEUE,
    SNAPSHOT_HEADER,
    WAVE_ABORT,
    target_version,
)
from gpu.host.core_files.reader import CoreFile, CoreFileError, parse_core, read_core
from gpu.host.core_files.writer import write_core
from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import stored, stored_bytes


def faulting() -> tuple[Device, Buffer, CodeObject, KernelError]:
    """A device whose kernel gave up."""
    device, code = Device(cus=1), stored("device_hsa")
    device.create_queue()
    queue = device.create_queue()
    data = device.alloc(np.arange(-1, 63, dtype=np.int32))
    queue.dispatch(code["trapk"], 64, 64, [data])
    queue.ring()
    with pytest.raises(KernelError) as raised:
        device.run()
    return device, data, code, raised.value


@cache
def written() -> bytes:
    device, *_ = faulting()
    with TemporaryDirectory() as folder:
        write_core(device, Path(folder, "core"))
        return Path(folder, "core").read_bytes()


@pytest.mark.parametrize(
    "processor, number", [("gfx803", 80003), ("gfx900", 90000), ("gfx90a", 90010)]
)
def test_the_processor_as_the_driver_writes_it(processor: str, number: int) -> None:
    assert target_version(processor) == number


def test_what_was_written_is_read(tmp_path: Path) -> None:
    device, data, code, error = faulting()
    write_core(device, tmp_path / "core", error)
    found = read_core(tmp_path / "core")
    assert found.error == str(error) and "trap 2" in found.error and found.tick == device.now
    first, second = found.queues
    assert (first["exception_status"], second["exception_status"]) == (0, WAVE_ABORT)
    queue = device.queues[1]
    assert second["ring_base_address"] == queue.field("base_address")
    assert found.read(second["write_pointer_address"], 8) == (1).to_bytes(8, "little")
    assert found.read(data.address, data.size) == data.numpy().tobytes()
    assert found.read(16, 8) is None
    (agent,) = found.agents
    assert (agent["gfx_target_version"], agent["simd_count"]) == (80003, 4)
    (wave,) = found.waves
    assert found.waves == error.waves and wave.number == 0
    assert found.where(wave.pc) is not None
    assert wave.scalars[126:128] == (1, 0), "EXEC: the lane whose number is negative"
    held = [
        [wave.vector(register, lane) for lane in (0, 5)]
        for register in range(len(wave.vectors) // 256)
    ]
    assert [0xFFFF_FFFF, 5] in held, "what was loaded, 1 more where the number was not negative"
    with pytest.raises(IndexError):
        wave.vector(0, 64)
    kernel = device.load(code)["trapk"]
    assert found.where(kernel.entry + 8) == "trapk+0x8" and found.where(16) is None
    assert device.now == found.tick  # nothing has run


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(written())
    run = gcn("core", str(tmp_path / "core"))
    assert run.status == 0, run.err
    assert re.search(r"wave 0: at 0x\w+, trapk\+0x80, 4 vector register", run.out)
    for text in ("kernel trapk: ", "queue 1, packet 0: kernel trapk: wave 0 of group (0, 0, 0)"):
        assert text in run.out
    assert "read index 1, write index 1, a wave has failed" in run.out
    (tmp_path / "core").write_bytes(written()[:100])
    run = gcn("core", str(tmp_path / "core"))
    assert run.status == 2 and f"{tmp_path}/core: the table of " in run.err
    assert gcn("core", str(tmp_path / "missing")).status == 2


@pytest.mark.parametrize("device", ["--functional", "--engine=auto"])
def test_a_run_that_fails_writes_one(device: str, tmp_path: Path) -> None:
    core, code = tmp_path / "core", tmp_path / "a.co"
    code.write_bytes(stored_bytes("device_hsa"))
    call = ("run", str(code), "trapk", "--grid", "64", device, "--core", str(core))
    assert gcn(*call, "--arg", "i32[64]=1").status == 0 and not core.exists()
    run = gcn(*call, "--arg", "i32[64]=-1")
    assert run.status == 2 and "trap 2" in run.err
    found = read_core(core)
    assert found.error in run.err and len(found.waves) == 1


def test_a_file_from_elsewhere_has_no_note_of_ours() -> None:
    data = written().replace(b"gcn\0", b"abc\0", 1)
    found = parse_core(data)
    assert (found.error, found.kernels) == ("", ()) and len(found.queues) == 2


def changed(offset: int, layout: str, value: int) -> bytes:
    data = bytearray(written())
    struct.pack_into(layout, data, offset, value)
    return bytes(data)


NOTES = 64 + PROGRAM_HEADER.size * struct.unpack_from("<H", written(), 56)[0]
SNAPSHOT = NOTES + 12 + 8


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        (0, "B", 1, "not an ELF file"),
        (18, "<H", 62, "for AMDGPU"),
        (16, "<H", 3, "not a core file for HSA: type 3"),
        (54, "<H", 40, "program headers of 40 bytes"),
        (56, "<H", 65000, "the table of 65000 parts"),
        (NOTES + 4, "<I", 1 << 30, "a note of type 33"),
        (NOTES + 8, "<I", 32, "no note of a device's state"),
        (SNAPSHOT + 8, "<Q", 7, "no multiple of 8"),
        (SNAPSHOT + 16, "<I", 1 << 31, "kfd_dbg_device_info_entry has 120"),
        (SNAPSHOT + 24, "<I", 60_000, "60000 entries of 64 bytes"),
        (SNAPSHOT + 28, "<I", 56, "kfd_queue_snapshot_entry has 64"),
    ],
)
def test_hostile_headers(offset: int, layout: str, value: int, message: str) -> None:
    with pytest.raises(CoreFileError, match=message):
        parse_core(changed(offset, layout, value))


def test_the_layouts_are_the_drivers() -> None:
    assert (SNAPSHOT_HEADER.size, AGENT.size, QUEUE.size) == (32, 120, 64)


@settings(max_examples=100)
@given(st.integers(0, NOTES + 1200), st.binary(min_size=1, max_size=12), st.integers(0, 4))
def test_any_damage_is_read_or_refused(offset: int, replacement: bytes, cut: int) -> None:
    data = bytearray(written())
    data[offset : offset + len(replacement)] = replacement
    try:
        found = parse_core(bytes(data[: len(data) if cut else offset]))
    except CoreFileError as error:
        assert str(error).isprintable()
    else:
        assert isinstance(found, CoreFile)
