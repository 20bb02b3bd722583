"""Whatever the bytes, reading ends with a code object or a `CodeObjectError`."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu.code_object import CodeObject, CodeObjectError
from gpu.code_object.metadata import MetadataError, read_message_pack, read_version_2
from tests.gpu.kernels.stored import stored, stored_bytes
from tests.sampling import sampled

OBJECTS = [
    ("vadd", "clang14-O2"), ("pointers", "clang14-O2-v2"), ("pointers", "clang19-O2"),
    ("flatgen", "clang19-O2"), ("calls", "clang14-O0"),
]  # fmt: skip
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0xFFFF_FFFF, (1 << 63) - 1, (1 << 64) - 1)


def _read(data: bytes) -> None:
    try:
        code_object = CodeObject.from_bytes(data, "k.co")
    except CodeObjectError as error:
        assert str(error).startswith("k.co")
        return
    code_object.image(1 << 32)
    for kernel in code_object.kernels.values():
        kernel.refusals()
    list(code_object.functions())


@pytest.mark.parametrize(("source", "configuration"), sampled(OBJECTS, 2))
def test_changed_objects(source: str, configuration: str) -> None:
    """A few fields of headers and tables set to extremes, some bytes anywhere, some ends cut."""
    original = stored_bytes(source, configuration)
    prng = random.Random(f"{source} {configuration}")
    for _ in range(400):
        data = bytearray(original)
        for _ in range(prng.choice((1, 1, 2, 5))):
            size = prng.choice((1, 2, 4, 8))
            near = prng.choice((64, 600, len(data)))
            at = prng.randrange(min(near, len(data)) - size)
            if near < len(data) or prng.random() < 0.5:
                at -= at % size
            value = prng.choice((*EXTREMES, prng.getrandbits(64), len(data)))
            data[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
        if prng.random() < 0.15:
            del data[prng.randrange(len(data)) :]
        _read(bytes(data))


@pytest.mark.parametrize(("source", "configuration"), sampled(OBJECTS, 2))
def test_every_truncation(source: str, configuration: str) -> None:
    data = stored_bytes(source, configuration)
    for end in range(0, len(data), 37):
        with pytest.raises(CodeObjectError):
            CodeObject.from_bytes(data[:end], "k.co")


@given(st.binary(max_size=600))
@settings(deadline=None, max_examples=60)
def test_any_bytes_behind_an_elf_header(tail: bytes) -> None:
    _read(stored_bytes("vadd")[:64] + tail)


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=100)
def test_any_metadata(data: bytes) -> None:
    for read in (read_message_pack, read_version_2):
        try:
            read(data)
        except MetadataError:
            continue


@given(st.text(alphabet="aK:-[]{}'\", \n0\\#&*!|>?%~<=", max_size=80))
@settings(deadline=None, max_examples=100)
def test_any_yaml(text: str) -> None:
    try:
        read_version_2(text.encode())
    except MetadataError:
        return


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xc1", "not MessagePack: a byte that starts no value"),
        (b"\x81\xa1a", "not MessagePack: Unpack failed: incomplete input"),
        (b"\xdd\xff\xff\xff\xff", r"length 4294967295 of a value .array., where at most 5 fits"),
        (b"\x81\xa1a" * 3000, "not MessagePack: nested too deep"),
        (b"\x81\x80\x01", "metadata: a key of a map is a map or a list"),
        (b"\x01\x02\x03", "2 bytes follow the end of the metadata"),
        (b"\xa1\xff", r"metadata is '.*xff', not a map"),
    ],
)
def test_what_is_no_metadata_is_reported(data: bytes, words: str) -> None:
    """Nothing of how the library that reads them would say it."""
    with pytest.raises(MetadataError, match=words):
        read_message_pack(data)


@pytest.mark.parametrize(
    ("offset", "value", "words"),
    [
        (32, 1 << 63, "offset 0x8000000000000000: truncated: the table of . program headers"),
        (40, 1 << 40, "offset 0x10000000000: truncated: the table of .* section headers"),
        (58, 8, "section headers of 8 bytes each, not 64"),
        (60, 0xFFFF, "65535 section headers: more than 4096"),
    ],
)
def test_tables_of_headers(offset: int, value: int, words: str) -> None:
    data = bytearray(stored_bytes("vadd"))
    size = 8 if offset < 48 else 2
    data[offset : offset + size] = value.to_bytes(size, "little")
    with pytest.raises(CodeObjectError, match=words):
        CodeObject.from_bytes(bytes(data), "k.co")


def test_text_that_is_not_utf_8_is_kept() -> None:
    """A printf format of a source in Latin-1."""
    (note,) = stored("vadd").elf.notes
    data = note.data.replace(b"vadd_i", b"vadd\xe9i")
    assert r"vadd\xe9i" in [kernel.name for kernel in read_message_pack(data).kernels]


def test_counts_beyond_the_file_cost_nothing() -> None:
    """Tables that claim 2**32 entries are refused before anything is read."""
    data = bytearray(stored_bytes("vadd"))
    sections = struct.unpack_from("<Q", data, 40)[0]
    for index in range(struct.unpack_from("<H", data, 60)[0]):
        struct.pack_into("<Q", data, sections + 64 * index + 32, 24 << 32)
    with pytest.raises(CodeObjectError, match=r"symbols: more than|truncated"):
        CodeObject.from_bytes(bytes(data), "k.co")


def test_deep_nesting() -> None:
    with pytest.raises(MetadataError):
        read_message_pack(b"\x81\xa1a" * 5000 + b"\x01")
    with pytest.raises(MetadataError):
        read_version_2(b"\n".join(b" " * n + b"a:" for n in range(200)))
    with pytest.raises(MetadataError, match="alias"):
        read_version_2(b"a: &x [1, 2]\nb: *x\n")
    with pytest.raises(MetadataError):
        read_version_2(b"a: " + b"[" * 5000 + b"]" * 5000)
