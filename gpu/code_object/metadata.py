"""A compiler's metadata of its kernels: names, arguments, sizes, printf formats.

Version 3 and later write a MessagePack map in a note of owner ``AMDGPU``, type 32; version 2 a
YAML text in a note of owner ``AMD``, type 10. Both become one `Metadata`.

Invariant: argument offsets and sizes lie inside the kernel's argument segment.
Source: LLVM "User Guide for AMDGPU Backend", "Code Object Metadata" (V2 to V5).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from slicc.text.lazy_dataclass import dataclass

LARGEST_KERNARG: Final = 1 << 20
_MOST_KERNELS: Final = 1 << 16
_REASONS: Final = {
    "FormatError": "a byte that starts no value",
    "StackError": "nested too deep",
    "RecursionError": "nested too deep",
}
"""Texts for errors of the msgpack package that have none."""
_TOO_LONG: Final = re.compile(r"(\d+) exceeds max_(\w+)_len\((\d+)\)")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, as laid out in the argument segment.

    ``kind``: the value kind of the specification in its version 3 spelling: ``by_value``,
    ``global_buffer``, ``dynamic_shared_pointer``, ``hidden_...``. ``type_name``: of the source,
    empty if not given. ``pointee_align``: bytes, 1 if not given.
    """

    name: str
    type_name: str
    kind: str
    offset: int
    size: int
    address_space: str = ""
    access: str = ""
    is_const: bool = False
    pointee_align: int = 1

    @property
    def hidden(self) -> bool:
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """One kernel. Sizes are bytes; ``required_group`` is None unless the source fixes it."""

    name: str
    symbol: str
    arguments: tuple[Argument, ...]
    kernarg_size: int
    kernarg_align: int
    group_size: int
    private_size: int
    wavefront_size: int
    sgprs: int
    vgprs: int
    max_group_items: int
    required_group: tuple[int, int, int] | None = None
    language: str = ""
    language_version: tuple[int, ...] = ()
    sgpr_spills: int = 0
    vgpr_spills: int = 0
    kind: str = "normal"
    uses_dynamic_stack: bool = False
    uniform_groups: bool = False

    @property
    def explicit(self) -> tuple[Argument, ...]:
        """The arguments that a caller gives."""
        return tuple(each for each in self.arguments if not each.hidden)


@dataclass(frozen=True, slots=True)
class PrintfFormat:
    """One call of printf: its number, the sizes of its arguments in bytes, its format."""

    number: int
    sizes: tuple[int, ...]
    format: str


@dataclass(frozen=True, slots=True)
class Metadata:
    """``target``: as written, empty before version 4."""

    version: tuple[int, int]
    target: str
    printf: tuple[PrintfFormat, ...]
    kernels: tuple[KernelMetadata, ...]


class MetadataError(ValueError):
    """The metadata lack a required value or have an invalid one."""


def read_message_pack(data: bytes) -> Metadata:
    """Metadata of version 3 or later. Raises `MetadataError`."""
    import msgpack

    try:
        document = msgpack.unpackb(
            data, raw=False, strict_map_key=False, unicode_errors="backslashreplace"
        )
    except msgpack.exceptions.ExtraData as error:
        raise MetadataError(f"{len(error.extra)} bytes follow the end of the metadata") from None
    except TypeError:
        raise MetadataError("metadata: a key of a map is a map or a list") from None
    except (ValueError, RecursionError, msgpack.exceptions.UnpackException) as error:
        reason = str(error) or _REASONS.get(type(error).__name__, type(error).__name__)
        reason = _TOO_LONG.sub(r"length \1 of a value (\2), where at most \3 fits", reason)
        raise MetadataError(f"metadata are not MessagePack: {reason}") from None
    return _metadata(document)


def read_version_2(data: bytes) -> Metadata:
    """Metadata of version 2. Raises `MetadataError`."""
    from gpu.code_object.yaml_notes import YamlError, read_yaml

    try:
        document = read_yaml(data.decode("utf-8", "backslashreplace"))
    except YamlError as error:
        raise MetadataError(f"metadata are not YAML: {error}") from None
    return _metadata(_renamed(document))


# ------------------------------------------------------------------ checked access


class _Map:
    """A map whose values are read by key and type; ``where`` names it in messages."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise MetadataError(f"{where} is {_shown(value)}, not a map")
        self.value = value
        self.where = where

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.value.get(key, default)
        if value is default and default is not None:
            return default
        if value is None:
            raise MetadataError(f"{self.where} has no {key}")
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise MetadataError(f"{self.where}: {key} is {_shown(value)}")
        return value

    def number(self, key: str, most: int, default: int | None = None) -> int:
        value: int = self.get(key, int, default)
        if not 0 <= value <= most:
            raise MetadataError(f"{self.where}: {key} is {value}, not 0 to {most}")
        return value

    def numbers(self, key: str, count: int) -> tuple[int, ...] | None:
        if self.value.get(key) is None:
            return None
        values = self.get(key, list)
        if len(values) != count or not all(type(each) is int and each >= 0 for each in values):
            raise MetadataError(f"{self.where}: {key} is {_shown(values)}, not {count} numbers")
        return tuple(values)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _metadata(document: object) -> Metadata:
    top = _Map(document, "metadata")
    version = top.numbers("amdhsa.version", 2)
    if version is None:
        raise MetadataError("metadata has no amdhsa.version")
    if version[0] != 1:
        raise MetadataError(f"metadata version {version[0]}.{version[1]} is not known")
    kernels = top.get("amdhsa.kernels", list, [])
    if len(kernels) > _MOST_KERNELS:
        raise MetadataError(f"{len(kernels)} kernels: more than {_MOST_KERNELS}")
    return Metadata(
        (version[0], version[1]),
        top.get("amdhsa.target", str, ""),
        tuple(_printf(each) for each in top.get("amdhsa.printf", list, [])),
        tuple(_kernel(each, index) for index, each in enumerate(kernels)),
    )


def _printf(text: object) -> PrintfFormat:
    """``number:count:size...:format``; the format may contain colons."""
    if not isinstance(text, str):
        raise MetadataError(f"amdhsa.printf has {_shown(text)}, not a string")
    parts = text.split(":")
    try:
        number, count = int(parts[0]), int(parts[1])
        if count < 0 or len(parts) < count + 3:
            raise ValueError
        sizes = tuple(int(size) for size in parts[2 : 2 + count])
    except (ValueError, IndexError):
        raise MetadataError(f"amdhsa.printf: {_shown(text)} is not id:n:size...:format") from None
    return PrintfFormat(number, sizes, ":".join(parts[2 + count :]))


def _kernel(value: object, index: int) -> KernelMetadata:
    given = _Map(value, f"kernel {index}")
    name = given.get(".name", str)
    given.where = f"kernel {_shown(name)}"
    kernarg_size = given.number(".kernarg_segment_size", LARGEST_KERNARG)
    required = given.numbers(".reqd_workgroup_size", 3)
    if required is not None and 0 in required:
        required = None
    return KernelMetadata(
        name=name,
        symbol=given.get(".symbol", str),
        arguments=tuple(
            _argument(each, f"{given.where}, argument {number}", kernarg_size)
            for number, each in enumerate(given.get(".args", list, []))
        ),
        kernarg_size=kernarg_size,
        kernarg_align=_alignment(given, ".kernarg_segment_align", None),
        group_size=given.number(".group_segment_fixed_size", 1 << 32),
        private_size=given.number(".private_segment_fixed_size", 1 << 32),
        wavefront_size=given.number(".wavefront_size", 64),
        sgprs=given.number(".sgpr_count", 1 << 16),
        vgprs=given.number(".vgpr_count", 1 << 16),
        max_group_items=given.number(".max_flat_workgroup_size", 1 << 32),
        required_group=None if required is None else (required[0], required[1], required[2]),
        language=given.get(".language", str, ""),
        language_version=given.numbers(".language_version", 2) or (),
        sgpr_spills=given.number(".sgpr_spill_count", 1 << 32, 0),
        vgpr_spills=given.number(".vgpr_spill_count", 1 << 32, 0),
        kind=given.get(".kind", str, "normal"),
        uses_dynamic_stack=_flag(given, ".uses_dynamic_stack"),
        uniform_groups=_flag(given, ".uniform_work_group_size"),
    )


def _flag(given: _Map, key: str) -> bool:
    """Compilers write flags as booleans or as 0 and 1."""
    return bool(given.get(key, int if type(given.value.get(key)) is int else bool, False))


def _alignment(given: _Map, key: str, default: int | None) -> int:
    value = given.number(key, LARGEST_KERNARG, default)
    if value < 1 or value & value - 1:
        raise MetadataError(f"{given.where}: {key} is {value}, not a power of two")
    return value


def _argument(value: object, where: str, kernarg_size: int) -> Argument:
    given = _Map(value, where)
    offset = given.number(".offset", LARGEST_KERNARG)
    size = given.number(".size", LARGEST_KERNARG)
    if offset + size > kernarg_size:
        raise MetadataError(
            f"{where}: {size} bytes at {offset} do not fit the {kernarg_size} of all arguments"
        )
    return Argument(
        name=given.get(".name", str, ""),
        type_name=given.get(".type_name", str, ""),
        kind=given.get(".value_kind", str),
        offset=offset,
        size=size,
        address_space=given.get(".address_space", str, ""),
        access=given.get(".access", str, ""),
        is_const=_flag(given, ".is_const"),
        pointee_align=_alignment(given, ".pointee_align", 1),
    )


# ------------------------------------------------------------------ version 2


def _snake(name: str) -> str:
    """``HiddenGlobalOffsetX``: ``hidden_global_offset_x``."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).lstrip("_")


def _renamed(document: object) -> dict[str, Any]:
    """A version 2 document with the keys, spellings and offsets of version 3."""
    top = _Map(document, "metadata")
    kernels = top.get("Kernels", list, [])
    return {
        "amdhsa.version": top.value.get("Version"),
        "amdhsa.printf": top.get("Printf", list, []),
        "amdhsa.kernels": [_renamed_kernel(each, index) for index, each in enumerate(kernels)],
    }


_PROPERTIES_V2: Final = {
    "KernargSegmentSize": ".kernarg_segment_size",
    "KernargSegmentAlign": ".kernarg_segment_align",
    "GroupSegmentFixedSize": ".group_segment_fixed_size",
    "PrivateSegmentFixedSize": ".private_segment_fixed_size",
    "WavefrontSize": ".wavefront_size",
    "NumSGPRs": ".sgpr_count",
    "NumVGPRs": ".vgpr_count",
    "MaxFlatWorkGroupSize": ".max_flat_workgroup_size",
    "NumSpilledSGPRs": ".sgpr_spill_count",
    "NumSpilledVGPRs": ".vgpr_spill_count",
}
_ARGUMENT_V2: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "Name": (".name", str),
    "TypeName": (".type_name", str),
    "Size": (".size", lambda value: value),
    "ValueKind": (".value_kind", lambda value: _snake(str(value))),
    "PointeeAlign": (".pointee_align", lambda value: value),
    "AddrSpaceQual": (".address_space", lambda value: str(value).lower()),
    "AccQual": (".access", lambda value: _snake(str(value))),
    "IsConst": (".is_const", lambda value: value),
}


def _renamed_kernel(value: object, index: int) -> dict[str, Any]:
    given = _Map(value, f"kernel {index}")
    properties = _Map(given.get("CodeProps", dict, {}), f"kernel {index}: CodeProps").value
    attributes = _Map(given.get("Attrs", dict, {}), f"kernel {index}: Attrs").value
    kernel: dict[str, Any] = {
        new: properties[old] for old, new in _PROPERTIES_V2.items() if old in properties
    }
    kernel[".name"] = given.value.get("Name")
    kernel[".symbol"] = given.value.get("SymbolName")
    kernel[".language"] = given.value.get("Language", "")
    kernel[".language_version"] = given.value.get("LanguageVersion")
    kernel[".reqd_workgroup_size"] = attributes.get("ReqdWorkGroupSize")
    arguments, offset = [], 0
    for number, each in enumerate(given.get("Args", list, [])):
        argument = _Map(each, f"kernel {index}, argument {number}")
        align = _alignment(argument, "Align", None)
        offset = offset + align - 1 & -align
        renamed = {
            new: convert(argument.value[old])
            for old, (new, convert) in _ARGUMENT_V2.items()
            if old in argument.value
        }
        arguments.append({**renamed, ".offset": offset})
        offset += argument.number("Size", LARGEST_KERNARG)
    kernel[".args"] = arguments
    return kernel
