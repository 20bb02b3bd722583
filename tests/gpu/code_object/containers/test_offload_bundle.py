"""Bundles: which object is taken, and every way in which one can be damaged."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from gpu.code_object import CodeObject, CodeObjectError
from gpu.code_object.containers.offload_bundle import MAGIC, read_bundle
from tests.gpu.kernels.stored import stored_bytes

HOST = "host-x86_64-unknown-linux-gnu-"
MOST = 1 << 20


def bundle(*entries: tuple[str, bytes]) -> bytes:
    """As the offload bundler writes it: a table, then the objects at multiples of 4,096."""
    table = len(MAGIC) + 8 + sum(24 + len(target) for target, _ in entries)
    at, head, body = -(-table // 4096) * 4096, b"", b""
    start = at
    for target, data in entries:
        head += struct.pack("<QQQ", at, len(data), len(target)) + target.encode()
        body += data + bytes(-len(data) % 4096)
        at = start + len(body)
    whole = MAGIC + len(entries).to_bytes(8, "little") + head
    return whole + bytes(start - len(whole)) + body


def compressed(data: bytes, version: int = 2, method: int = 0) -> bytes:
    packed = zlib.compress(data)
    sizes = {1: struct.pack("<I", len(data)), 2: struct.pack("<II", len(packed) + 24, len(data)),
             3: struct.pack("<QQ", len(packed) + 32, len(data))}[version]  # fmt: skip
    return b"CCOB" + struct.pack("<HH", version, method) + sizes + bytes(8) + packed


@pytest.fixture
def mixed() -> bytes:
    return bundle(
        (HOST, b""),
        ("hipv4-amdgcn-amd-amdhsa--gfx900:xnack-", stored_bytes("vadd", "clang19-O2-gfx900")),
        ("hipv4-amdgcn-amd-amdhsa--gfx803", stored_bytes("vadd")),
    )


def test_the_object_that_runs_is_taken(mixed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vadd.hipfb"
    path.write_bytes(mixed)
    found = CodeObject.load(path)
    assert set(found.kernels) == {"vadd", "vadd_i"}
    assert found["vadd"].refusals() == ()
    assert CodeObject.load(found.uri)["vadd"] == found["vadd"]
    assert "#offset=0x" in found.uri


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles(version: int, mixed: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vadd.hipfb"
    path.write_bytes(compressed(mixed, version))
    found = CodeObject.load(path)
    assert set(found.kernels) == {"vadd", "vadd_i"}
    assert CodeObject.load(found.uri)["vadd"] == found["vadd"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            bundle((HOST, b""), ("hip-amdgcn-amd-amdhsa--gfx1030", b"x")),
            "gfx803 or gfx900; it has gfx1030",
        ),
        (bundle((HOST, b"x")), "without code for gfx803 or gfx900; it has none"),
        (MAGIC + b"\2", "truncated: a bundle begins"),
        (MAGIC + b"\xff" * 8, "entries of a bundle: more than 4096"),
        (MAGIC + b"\2" + bytes(7) + bytes(20), "it says that it has 2 entries"),
        (MAGIC + b"\1" + bytes(7) + struct.pack("<QQQ", 0, 0, 99), "name of an entry has 99"),
        (MAGIC + b"\1" + bytes(7) + struct.pack("<QQQ", 9, 1 << 60, 0), "reaches past the end"),
        (b"CCOB", "a compressed bundle has a header"),
        (compressed(b"", version=2)[:4] + b"\x09\0\0\0" + bytes(20), "version 9 of compressed"),
        (compressed(bundle((HOST, b"")), method=1), "compressed by zstd"),
        (compressed(b"no bundle"), "what is compressed is no bundle"),
        (compressed(bundle((HOST, b"")))[:24] + b"damage", "compressed bundle is damaged"),
        (compressed(MAGIC + bytes(4 * MOST)), "more than 1048576 bytes when unpacked"),
    ],
)
def test_damaged_bundles(
    data: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpu.code_object import code_object as module

    monkeypatch.setattr(module, "LARGEST_FILE", MOST)
    path = tmp_path / "bundle"
    path.write_bytes(data)
    with pytest.raises(CodeObjectError, match=message):
        CodeObject.load(path)


def test_every_cut_is_an_error_or_a_whole_entry(mixed: bytes) -> None:
    for end in range(len(MAGIC), 400):
        with pytest.raises(CodeObjectError):
            read_bundle(mixed[:end], "cut", MOST)
