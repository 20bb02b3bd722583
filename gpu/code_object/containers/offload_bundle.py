"""Bundles of code objects, one for each target, as compilers of HIP and OpenMP write them.

Invariant: every entry lies inside the bundle; a compressed one takes no more memory than the
largest file that is read. Source: clang, "Clang Offload Bundler".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import field
from typing import Final

from gpu.code_object.errors import CodeObjectError
from slicc.text.lazy_dataclass import dataclass

MAGIC: Final = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC: Final = b"CCOB"
_MOST_ENTRIES: Final = 4096
_LONGEST_NAME: Final = 4096
_ENTRY: Final = struct.Struct("<QQQ")
_ZLIB, _ZSTD = 0, 1
_SIZES: Final = {1: "<I", 2: "<II", 3: "<QQ"}
"""By version: sizes of the file (from version 2 on) and of what is compressed."""
_TARGET: Final = "amdgcn-amd-amdhsa-"


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """``target``: ``hipv4-amdgcn-amd-amdhsa--gfx803``. ``offset``: in the bundle, uncompressed."""

    target: str
    offset: int
    data: bytes = field(repr=False)

    @property
    def processor(self) -> str:
        """``gfx803``, without features; empty for code of the host."""
        _, found, rest = self.target.partition(_TARGET)
        return rest.lstrip("-").partition(":")[0] if found else ""


def is_bundle(data: bytes) -> bool:
    """Whether the file is a bundle, compressed or not."""
    return data.startswith((MAGIC, COMPRESSED_MAGIC))


def read_bundle(data: bytes, path: str, largest: int) -> list[BundleEntry]:
    """All entries, in order; at most ``largest`` bytes are unpacked. Raises CodeObjectError."""
    if data.startswith(COMPRESSED_MAGIC):
        data = _unpacked(data, path, largest)
    at = len(MAGIC)
    if len(data) < at + 8:
        raise CodeObjectError(path, "truncated: a bundle begins with the number of entries", at)
    count = int.from_bytes(data[at : at + 8], "little")
    if count > _MOST_ENTRIES:
        raise CodeObjectError(path, f"{count} entries of a bundle: more than {_MOST_ENTRIES}", at)
    at += 8
    entries = []
    for _ in range(count):
        if at + _ENTRY.size > len(data):
            raise CodeObjectError(path, f"truncated: it says that it has {count} entries", at)
        offset, size, length = _ENTRY.unpack_from(data, at)
        name = data[at + _ENTRY.size : at + _ENTRY.size + length]
        if length > _LONGEST_NAME or len(name) < length:
            raise CodeObjectError(path, f"the name of an entry has {length} bytes", at + 16)
        if offset + size > len(data):
            raise CodeObjectError(
                path, f"an entry of {size} bytes at {offset:#x} reaches past the end", at
            )
        target = name.decode("ascii", "replace")
        entries.append(BundleEntry(target, offset, data[offset : offset + size]))
        at += _ENTRY.size + length
    return entries


def entry_for(entries: list[BundleEntry], processors: Iterable[str], path: str) -> BundleEntry:
    """The first that has code for the first of these processors that it has any for. Raises
    CodeObjectError, naming those it has."""
    filled = [entry for entry in entries if entry.processor and entry.data]
    for processor in processors:
        for entry in filled:
            if entry.processor == processor:
                return entry
    wanted = " or ".join(processors)
    known = ", ".join(entry.processor for entry in filled) or "none"
    raise CodeObjectError(path, f"a bundle without code for {wanted}; it has {known}")


def _unpacked(data: bytes, path: str, largest: int) -> bytes:
    """The bundle in a compressed one. Raises CodeObjectError."""
    if len(data) < 8:
        raise CodeObjectError(path, "truncated: a compressed bundle has a header", len(data))
    version, method = struct.unpack_from("<HH", data, 4)
    if version not in _SIZES:
        raise CodeObjectError(path, f"version {version} of compressed bundles is not known", 4)
    start = 8 + struct.calcsize(_SIZES[version]) + 8  # behind sizes and a digest
    if method != _ZLIB:
        how = "zstd" if method == _ZSTD else f"method {method}"
        raise CodeObjectError(path, f"a bundle compressed by {how}; zlib is read", 6)
    unpacker = zlib.decompressobj()
    try:
        unpacked = unpacker.decompress(data[start:], largest)
    except zlib.error as error:
        raise CodeObjectError(path, f"the compressed bundle is damaged: {error}", start) from None
    if unpacker.unconsumed_tail:
        raise CodeObjectError(path, f"more than {largest} bytes when unpacked", start)
    if not unpacked.startswith(MAGIC):
        raise CodeObjectError(path, "what is compressed is no bundle", start)
    return unpacked
