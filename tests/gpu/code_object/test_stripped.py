"""Objects without section headers load by their program headers, as a loader would load them."""

from __future__ import annotations

import struct

import pytest

from gpu.code_object import CodeObject, CodeObjectError
from gpu.code_object.elf import read_elf
from tests.gpu.kernels.stored import stored_bytes

HASH, GNU_HASH, STRING_SIZE = 4, 0x6FFF_FEF5, 10
OBJECTS = [
    ("vadd", "clang14-O2-v2"), ("flatgen", "clang14-O2-v3"), ("litmus", "clang14-O2"),
    ("pointers", "clang19-O2"), ("calls", "clang14-O0"), ("flatgen", "clang19-O2-v6"),
]  # fmt: skip


def _without_sections(source: str, configuration: str) -> bytearray:
    """What ``llvm-objcopy --strip-sections`` leaves: the header names no section table."""
    data = bytearray(stored_bytes(source, configuration))
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    return data


def _tags(data: bytearray) -> dict[int, int]:
    """Where in the file each entry of the dynamic segment is."""
    (table,) = struct.unpack_from("<Q", data, 32)
    for number in range(struct.unpack_from("<H", data, 56)[0]):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, table + 56 * number)
        if kind == 2:
            return {
                struct.unpack_from("<Q", data, at)[0]: at for at in range(offset, offset + size, 16)
            }
    raise AssertionError("no dynamic segment")


def _exported(code_object: CodeObject) -> list[tuple[str, int, int, int]]:
    return [
        (name, kernel.object_address, kernel.entry, kernel.code_size)
        for name, kernel in code_object.kernels.items()
    ]


@pytest.mark.parametrize(("source", "configuration"), OBJECTS)
def test_kernels_are_found_without_sections(source: str, configuration: str) -> None:
    whole = CodeObject.from_bytes(stored_bytes(source, configuration), "k.co")
    stripped = CodeObject.from_bytes(bytes(_without_sections(source, configuration)), "k.co")
    assert _exported(stripped) == _exported(whole)
    # The ELF header itself lies in the first segment.
    assert stripped.image(1 << 32)[1:] == whole.image(1 << 32)[1:]


@pytest.mark.parametrize(("source", "configuration"), OBJECTS)
def test_either_hash_table_counts_the_symbols(source: str, configuration: str) -> None:
    data = _without_sections(source, configuration)
    tags = _tags(data)
    symbols = read_elf(bytes(data), "k.co").symbols
    for unknown in (HASH, GNU_HASH):
        only = bytearray(data)
        struct.pack_into("<Q", only, tags[unknown], 0x6FFF_0000)
        assert read_elf(bytes(only), "k.co").symbols == symbols
    for unknown in (HASH, GNU_HASH):
        struct.pack_into("<Q", data, tags[unknown], 0x6FFF_0000)
    with pytest.raises(CodeObjectError, match="no hash table that counts them"):
        read_elf(bytes(data), "k.co")


def test_what_the_dynamic_segment_claims_is_checked() -> None:
    for tag, value, message in (
        (HASH, 1 << 40, "hash table at address 0x10000000004, 4 bytes: not loaded"),
        (STRING_SIZE, 3, "symbol name at .* of its table of 3 has no end"),
        (STRING_SIZE, 1 << 50, "dynamic string table at address"),
        (11, 16, "dynamic symbols in entries of 16, not 24"),
    ):
        data = _without_sections("vadd", "clang14-O2")
        struct.pack_into("<Q", data, _tags(data)[tag] + 8, value)
        with pytest.raises(CodeObjectError, match=message):
            CodeObject.from_bytes(bytes(data), "k.co")


def test_a_hash_chain_without_an_end() -> None:
    """A table behind everything else: one bucket, whose chain runs to the end of the file."""
    data = _without_sections("vadd", "clang14-O2")
    (headers,) = struct.unpack_from("<Q", data, 32)
    last = max(
        headers + 56 * number
        for number in range(struct.unpack_from("<H", data, 56)[0])
        if struct.unpack_from("<I", data, headers + 56 * number)[0] == 1
    )
    offset, address, _, in_file = struct.unpack_from("<QQQQ", data, last + 8)
    del data[offset + in_file :]
    data += struct.pack("<IIIIQI", 1, 1, 1, 0, 0, 1) + bytes(32)
    struct.pack_into("<QQ", data, last + 32, len(data) - offset, len(data) - offset)
    tags = _tags(data)
    struct.pack_into("<Q", data, tags[HASH], 0x6FFF_0000)
    struct.pack_into("<Q", data, tags[GNU_HASH] + 8, address + in_file)
    with pytest.raises(CodeObjectError, match="a chain of the hash table has no end"):
        read_elf(bytes(data), "k.co")
