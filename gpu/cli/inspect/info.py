"""The output of ``gcn info`` for a code object.

Invariant: texts that come from the file are printed without control characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpu.cli.common.files import open_code_object
from gpu.cli.options import Format, InfoOptions
from gpu.code_object import RUNNABLE, CodeObject, Kernel, KernelDescriptor
from slicc.text.data import json_text
from slicc.text.terminal import printable

_ROUNDINGS = ("to nearest even", "up", "down", "to zero")
_DENORMALS = ("flushed", "flushed in results", "flushed in sources", "kept")


def info(options: InfoOptions) -> None:
    """Print what a code object was compiled for, and what each of its kernels needs."""
    code_object = open_code_object(options.file, options)
    if options.format is Format.JSON:
        print(json_text(as_data(code_object), indent=2))
    else:
        print("\n".join(as_text(code_object)))


def as_data(code_object: CodeObject) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "path": code_object.path,
        "version": code_object.version,
        "target": str(code_object.target),
        "image_bytes": code_object.image_size,
        "relocations": len(code_object.elf.relocations),
        "printf": [
            {"id": each.number, "sizes": list(each.sizes), "format": each.format}
            for each in code_object.metadata.printf
        ],
        "kernels": [_kernel_data(kernel) for kernel in code_object.kernels.values()],
    }


def as_text(code_object: CodeObject) -> Iterator[str]:
    """Everything, as text, line by line."""
    kernels = len(code_object.kernels)
    yield (
        f"{printable(code_object.path)}: code object version {code_object.version} for "
        f"{code_object.target}, {kernels} kernel{'' if kernels == 1 else 's'}"
    )
    yield f"image: {code_object.image_size} bytes, {len(code_object.elf.relocations)} relocations"
    for each in code_object.metadata.printf:
        yield f"printf {each.number}: {printable(each.format)!r}, arguments of {each.sizes} bytes"
    for kernel in code_object.kernels.values():
        yield ""
        yield from _kernel_text(kernel)


def initial_registers(descriptor: KernelDescriptor) -> list[tuple[str, str]]:
    """Register range and content, as a wave finds them (the ABI's order)."""
    found, at = [], 0
    for each in descriptor.user_sgprs:
        found.append((_range("s", at, each.size), each.name))
        at += each.size
    at = max(at, descriptor.user_sgpr_count)
    names = [f"work_group_id_{axis}" for axis in "xyz"]
    enabled = [name for name, on in zip(names, descriptor.work_group_ids, strict=True) if on]
    if descriptor.work_group_info:
        enabled.append("work_group_info")
    if descriptor.scratch:
        enabled.append("scratch_wave_offset")
    found += [(f"s{at + index}", name) for index, name in enumerate(enabled)]
    return found + [
        (f"v{index}", f"work_item_id_{'xyz'[index]}") for index in range(descriptor.work_item_ids)
    ]


def _range(file: str, first: int, size: int) -> str:
    return f"{file}{first}" if size == 1 else f"{file}[{first}:{first + size - 1}]"


def _kernel_text(kernel: Kernel) -> Iterator[str]:
    metadata, descriptor = kernel.metadata, kernel.descriptor
    language = " ".join((metadata.language, ".".join(map(str, metadata.language_version)))).strip()
    yield f"kernel {printable(kernel.name)}{f' ({printable(language)})' if language else ''}"
    yield (
        f"  code        {kernel.code_size} bytes at {kernel.entry:#x}, descriptor at "
        f"{kernel.object_address:#x}"
    )
    yield (
        f"  registers   {metadata.vgprs} vector{_allocated(kernel, descriptor.vgprs)}, "
        f"{metadata.sgprs} scalar{_allocated(kernel, descriptor.sgprs)}"
    )
    if metadata.vgpr_spills or metadata.sgpr_spills:
        yield f"  spilled     {metadata.vgpr_spills} vector, {metadata.sgpr_spills} scalar"
    stack = (
        ", and a stack that grows"
        if descriptor.dynamic_stack or metadata.uses_dynamic_stack
        else ""
    )
    yield (
        f"  memory      {descriptor.group_size} bytes of LDS a group, {descriptor.private_size} "
        f"bytes of scratch a work-item{stack}"
    )
    required = metadata.required_group
    yield "  group       " + (
        f"exactly {required[0]} x {required[1]} x {required[2]}"
        if required
        else f"up to {metadata.max_group_items} work-items"
    )
    yield (
        f"  floats      32 bits: rounded {_ROUNDINGS[descriptor.mode & 3]}, denormals "
        f"{_DENORMALS[descriptor.mode >> 4 & 3]}; 16 and 64 bits: rounded "
        f"{_ROUNDINGS[descriptor.mode >> 2 & 3]}, denormals {_DENORMALS[descriptor.mode >> 6 & 3]}"
    )
    starts = (f"{place} {name}" for place, name in initial_registers(descriptor))
    yield "  starts with " + ", ".join(starts)
    yield f"  arguments   {metadata.kernarg_size} bytes"
    for argument in metadata.arguments:
        text = f"    {argument.offset:4} {argument.size:4}  {argument.kind:24} {argument.type_name}"
        yield printable(f"{text} {argument.name}".rstrip())
    for problem in kernel.refusals():
        yield f"  cannot run: {problem}"


def _allocated(kernel: Kernel, registers: int) -> str:
    """Other processors allocate in other units."""
    return f" ({registers} allocated)" if kernel.target.processor in RUNNABLE else ""


def _kernel_data(kernel: Kernel) -> dict[str, Any]:
    metadata, descriptor = kernel.metadata, kernel.descriptor
    ours = kernel.target.processor in RUNNABLE
    return {
        "name": kernel.name,
        "descriptor_address": kernel.object_address,
        "entry_address": kernel.entry,
        "code_bytes": kernel.code_size,
        "vgprs": metadata.vgprs,
        "vgprs_allocated": descriptor.vgprs if ours else None,
        "sgprs": metadata.sgprs,
        "sgprs_allocated": descriptor.sgprs if ours else None,
        "lds_bytes": descriptor.group_size,
        "scratch_bytes": descriptor.private_size,
        "dynamic_stack": descriptor.dynamic_stack or metadata.uses_dynamic_stack,
        "max_group_items": metadata.max_group_items,
        "required_group": metadata.required_group,
        "mode": descriptor.mode,
        "initial_registers": dict(initial_registers(descriptor)),
        "kernarg_bytes": metadata.kernarg_size,
        "arguments": [
            {
                "offset": each.offset,
                "size": each.size,
                "kind": each.kind,
                "type": each.type_name,
                "name": each.name,
                "hidden": each.hidden,
            }
            for each in metadata.arguments
        ],
        "cannot_run": list(kernel.refusals()),
    }
