"""What is read out of stored objects of two compilers and five versions."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpu.code_object import RUNNABLE, CodeObject, CodeObjectError, load, unload
from gpu.code_object.elf import FUNCTION
from gpu.memory.address_space import Unmapped
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.kernels.stored import CONFIGURATIONS, stored, stored_bytes

EVERY = [
    (source, name)
    for name, configuration in CONFIGURATIONS.items()
    for source in configuration.sources
]


@pytest.mark.parametrize(("source", "configuration"), EVERY)
def test_every_stored_object(source: str, configuration: str) -> None:
    """Metadata, descriptor and symbols agree on each kernel."""
    code_object = stored(source, configuration)
    assert code_object.kernels
    for kernel in code_object.kernels.values():
        metadata, descriptor = kernel.metadata, kernel.descriptor
        assert kernel.code_size > 0
        assert descriptor.group_size == metadata.group_size
        assert descriptor.private_size == metadata.private_size
        assert descriptor.kernarg_size == metadata.kernarg_size
        runnable = code_object.target.processor in RUNNABLE
        if runnable:  # others count in other units
            assert metadata.vgprs <= descriptor.vgprs < metadata.vgprs + 8
            assert metadata.sgprs <= descriptor.sgprs
        assert sum(each.size for each in descriptor.user_sgprs) <= descriptor.user_sgpr_count
        ends = [each.offset + each.size for each in metadata.arguments]
        assert ends == sorted(ends)
        assert not kernel.refusals() if runnable else "gfx1030" in kernel.refusals()[0]


def test_versions_are_distinguished() -> None:
    versions = {
        "clang14-O2-v2": 2,
        "clang14-O2-v3": 3,
        "clang14-O2": 4,
        "clang19-O2": 5,
        "clang19-O2-v6": 6,
    }
    for configuration, version in versions.items():
        source = CONFIGURATIONS[configuration].sources[-1]
        assert stored(source, configuration).version == version


def test_a_kernel_in_full() -> None:
    """Numbers as ``llvm-readelf --notes`` and ``llvm-objdump -d`` print them for this object."""
    kernel = stored("reduce")["reduce_lds"]
    metadata = kernel.metadata
    assert [(each.type_name, each.kind, each.offset, each.size) for each in metadata.arguments] == [
        ("int*", "global_buffer", 0, 8),
        ("int*", "global_buffer", 8, 8),
        ("uint", "by_value", 16, 4),
    ]
    assert metadata.group_size == 1024
    assert metadata.required_group == (256, 1, 1)
    assert metadata.max_group_items == 256
    assert (metadata.language, metadata.language_version) == ("OpenCL C", (2, 0))
    descriptor = kernel.descriptor
    assert [each.name for each in descriptor.user_sgprs] == [
        "private_segment_buffer",
        "dispatch_ptr",
        "kernarg_segment_ptr",
    ]
    assert descriptor.user_sgpr_count == 8
    assert descriptor.work_group_ids == (True, False, False)
    assert descriptor.work_item_ids == 1
    assert not descriptor.scratch
    # f32 denormals flushed, f64 and f16 kept, NaN clamped to 0, IEEE.
    assert descriptor.mode == 0b11_1100_0000
    assert (descriptor.clamp_nan, descriptor.ieee, descriptor.exceptions) == (True, True, 0)


def test_version_2_says_the_same_as_version_4() -> None:
    for source in CONFIGURATIONS["clang14-O2-v2"].sources:
        old, new = stored(source, "clang14-O2-v2"), stored(source)
        assert list(old.kernels) == list(new.kernels)
        for name, kernel in old.kernels.items():
            other = new[name]
            assert kernel.descriptor.rsrc2 == other.descriptor.rsrc2
            assert kernel.descriptor.vgprs == other.descriptor.vgprs
            assert kernel.descriptor.properties == other.descriptor.properties
            assert [(a.offset, a.size, a.kind) for a in kernel.metadata.explicit] == [
                (a.offset, a.size, a.kind) for a in other.metadata.explicit
            ]
            code = old.elf.read(kernel.entry, 4)
            assert code == new.elf.read(other.entry, 4)


def test_functions_are_found_with_their_sizes() -> None:
    names = {each.name for each in stored("calls", "clang14-O0").functions()}
    assert names == {"f", "fib", "call1", "call_rec"}
    assert all(each.type == FUNCTION for each in stored("calls").functions())


def test_a_missing_kernel_is_reported_with_those_there_are() -> None:
    with pytest.raises(CodeObjectError, match=r"no kernel 'vad'; it has: vadd, vadd_i"):
        stored("vadd")["vad"]


class TestLoading:
    def test_image_and_permissions(self) -> None:
        code_object = stored("globals")
        memory = FlatMemory()
        loaded = load(code_object, memory)
        assert memory.read(loaded["lut"].object_address, 64) == code_object.elf.read(
            code_object["lut"].object_address, 64
        )
        counter = loaded.symbol("counter")
        assert struct.unpack("<i", memory.read(counter, 4)) == (7,)
        assert struct.unpack("<i", memory.read(loaded.symbol("acount"), 4)) == (0,)
        assert memory.space.at(counter, 4, writes=True).writable
        for address in (loaded.symbol("tab"), loaded["lut"].entry, loaded["lut"].object_address):
            with pytest.raises(Unmapped, match="may not be written"):
                memory.space.at(address, 4, writes=True)
        assert loaded["lut"].entry % 256 == 0
        assert loaded.where(loaded["lut"].entry + 8) == "lut+0x8"

    def test_two_objects_lie_apart_and_can_go(self) -> None:
        memory = FlatMemory()
        first, second = (load(stored(name), memory) for name in ("vadd", "saxpy"))
        assert not set(first.addresses) & set(second.addresses)
        unload(first, memory)
        assert memory.space.find(first["vadd"].entry) is None
        assert memory.space.find(second["saxpy"].entry) is not None

    @pytest.mark.parametrize("configuration", ["clang14-O2", "clang19-O2", "clang14-O2-v2"])
    def test_initialised_pointers_are_relocated(self, configuration: str) -> None:
        code_object = stored("pointers", configuration)
        assert {each.type for each in code_object.elf.relocations} <= {3, 13}
        assert code_object.elf.relocations
        memory = FlatMemory()
        load(stored("vadd"), memory)
        loaded = load(code_object, memory)
        place = int.from_bytes(memory.read(loaded.symbol("place"), 8), "little")
        assert place == loaded.symbol("values") + 8
        assert np.frombuffer(memory.read(place, 4), np.int32)[0] == 30


class TestRefusals:
    """Each names the file, where it is wrong, and the value that is wrong."""

    @pytest.mark.parametrize(
        ("offset", "value", "message"),
        [
            (0, b"\x7fELG", r"offset 0x0: not an ELF file: it starts with 7f 45 4c 47"),
            (4, b"\x01", r"offset 0x4: not a 64-bit little-endian"),
            (7, b"\x41", r"offset 0x7: made for operating system 65 \(AMDPAL\)"),
            (8, b"\x09", r"offset 0x8: ABI version 9 is not known"),
            (16, b"\x01", r"offset 0x10: type 1: a relocatable object \(link it first\)"),
            (18, b"\x3e", r"offset 0x12: machine 62 is not AMDGPU"),
            (54, b"\x00\x00", r"program headers of 0 bytes each, not 56"),
            (56, b"\x00\x00", r"nothing to load"),
        ],
    )
    def test_headers(self, offset: int, value: bytes, message: str) -> None:
        data = bytearray(stored_bytes("vadd"))
        data[offset : offset + len(value)] = value
        with pytest.raises(CodeObjectError, match=message) as caught:
            CodeObject.from_bytes(bytes(data), "k.co")
        assert str(caught.value).startswith("k.co: ")

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", ": it is empty"),
            (b"BC\xc0\xde5\x14", r", but LLVM bitcode \(compile it"),
            (b"; ModuleID = 'k.cl'\nsource_filename = \"k.cl\"", ", but LLVM IR as text"),
            (b'\t.text\n\t.amdgcn_target "amdgcn-amd-amdhsa--gfx803"', ", but assembly"),
            (b"// adds\n__kernel void f() {}", r", but OpenCL C \(let its name end in .cl\)"),
            (b"!<arch>\n/               ", r", but an archive \(link"),
            (b"__CLANG_OFFLOAD_BUNDLE__\2\0", ", but an offload bundle"),
            (b"CCOB\2\0", ", but a compressed offload bundle"),
            (b"\x10\xff\x10\xad\1\0\0\0", ", but an offload binary"),
            (b"PK\3\4", ", but a ZIP archive"),
            (b"gcn recording 1\n", r", but a recording \(gcn replay"),
            (b"kernels\0__kernel", ": it starts with 6b 65 72 6e"),
        ],
    )
    def test_files_of_other_kinds(self, data: bytes, words: str) -> None:
        with pytest.raises(CodeObjectError, match=f"offset 0x0: not an ELF file{words}"):
            CodeObject.from_bytes(data, "k.co")

    def test_files_that_never_end(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(CodeObjectError, match=r"pipe: .* it is empty"):
            CodeObject.load(tmp_path / "pipe")
        with pytest.raises(CodeObjectError, match="/dev/zero: more than the 268435456 bytes"):
            CodeObject.load("/dev/zero")
        with pytest.raises(CodeObjectError, match=f"{tmp_path}: Is a directory"):
            CodeObject.load(tmp_path)

    def test_a_descriptor_that_asks_for_more_arguments_than_there_can_be(self) -> None:
        code_object = stored("vadd")
        data = bytearray(stored_bytes("vadd"))
        where = code_object.elf.file_offset(code_object["vadd"].object_address)
        assert where is not None
        struct.pack_into("<I", data, where + 8, 1 << 31)
        with pytest.raises(CodeObjectError, match="'vadd': its descriptor asks for 2147483648 by"):
            CodeObject.from_bytes(bytes(data), "k.co")

    def test_truncated(self) -> None:
        data = stored_bytes("vadd")
        with pytest.raises(CodeObjectError, match="truncated"):
            CodeObject.from_bytes(data[:40], "k.co")
        with pytest.raises(CodeObjectError):
            CodeObject.from_bytes(data[: len(data) // 2], "k.co")

    def test_a_segment_larger_than_memory(self) -> None:
        data = bytearray(stored_bytes("vadd"))
        headers = struct.unpack_from("<Q", data, 32)[0]
        struct.pack_into("<Q", data, headers + 56 + 40, 1 << 60)
        with pytest.raises(CodeObjectError, match=r"0x1000000000000000 bytes are too large"):
            CodeObject.from_bytes(bytes(data), "k.co")

    def test_an_entry_outside_the_code(self) -> None:
        data = bytearray(stored_bytes("vadd"))
        kernel = stored("vadd")["vadd"]
        offset = stored("vadd").elf.file_offset(kernel.object_address)
        assert offset is not None
        struct.pack_into("<q", data, offset + 16, 1 << 20)
        with pytest.raises(CodeObjectError, match=r"in no executable segment|multiple of 256"):
            CodeObject.from_bytes(bytes(data), "k.co")

    def test_reserved_bits_are_reported_and_do_not_run(self) -> None:
        data = bytearray(stored_bytes("vadd"))
        offset = stored("vadd").elf.file_offset(stored("vadd")["vadd"].object_address)
        assert offset is not None
        struct.pack_into("<I", data, offset + 44, 0x10000)
        struct.pack_into("<I", data, offset + 60, 3)
        kernel = CodeObject.from_bytes(bytes(data))["vadd"]
        assert kernel.refusals() == ("reserved field 60 = 0x3", "rsrc3 0x10000 has bits 0x10000")

    def test_another_processor_is_read_and_refused_to_run(self) -> None:
        code_object = stored("vadd", "clang19-O2-gfx1030")
        assert str(code_object.target) == "amdgcn-amd-amdhsa--gfx1030"
        assert code_object["vadd"].refusals() == (
            "compiled for gfx1030; only gfx803 and gfx900 run",
        )

    @pytest.mark.parametrize(("bits", "xnack"), [(0x100, "any"), (0x200, "off"), (0x300, "on")])
    def test_gfx900_runs_whether_or_not_memory_instructions_can_be_replayed(
        self, bits: int, xnack: str
    ) -> None:
        data = bytearray(stored_bytes("vadd", "clang19-O2-gfx900"))
        struct.pack_into("<I", data, 48, struct.unpack_from("<I", data, 48)[0] & ~0x300 | bits)
        code_object = CodeObject.from_bytes(bytes(data))
        assert (code_object.target.processor, code_object.target.xnack) == ("gfx900", xnack)
        assert not code_object["vadd"].refusals()

    @pytest.mark.parametrize(
        ("stepping", "processor", "xnack"),
        [(0, "gfx900", None), (1, "gfx900", "on"), (3, "gfx902", "on"), (6, "gfx906", None),
         (7, "gfx906", "on"), (9, "gfx909", None), (11, "unknown 9:0:11", None)],
    )  # fmt: skip
    def test_version_2_says_xnack_by_the_stepping(
        self, stepping: int, processor: str, xnack: str | None
    ) -> None:
        data = stored_bytes("vadd", "clang14-O2-v2")
        version = struct.pack("<III", 8, 0, 3)
        assert data.count(version) == 1
        data = data.replace(version, struct.pack("<III", 9, 0, stepping))
        code_object = CodeObject.from_bytes(data)
        assert (code_object.target.processor, code_object.target.xnack) == (processor, xnack)
        assert bool(code_object["vadd"].refusals()) == (processor != "gfx900")

    def test_images_and_samplers_do_not_run(self) -> None:
        """Not even where the kernel does not use them: what is passed would be no image."""
        kernel = stored("vadd")["vadd"]
        first, second, *others = kernel.metadata.arguments
        arguments = (
            replace(first, kind="image", type_name="image2d_t"),
            replace(second, kind="sampler", type_name="", name=""),
            *others,
        )
        taking = replace(kernel, metadata=replace(kernel.metadata, arguments=arguments))
        assert taking.refusals() == (
            "argument 0 (image2d_t a): images are not modelled",
            "argument 1 (sampler): samplers are not modelled",
        )

    @pytest.mark.parametrize(("bits", "feature"), [(0x300, "xnack+"), (0xC00, "sramecc+")])
    def test_features_that_the_processor_has_not(self, bits: int, feature: str) -> None:
        data = bytearray(stored_bytes("vadd"))
        struct.pack_into("<I", data, 48, struct.unpack_from("<I", data, 48)[0] | bits)
        (refusal,) = CodeObject.from_bytes(bytes(data))["vadd"].refusals()
        assert refusal.startswith(
            f"compiled for amdgcn-amd-amdhsa--gfx803:{feature}, and no gfx803"
        )

    def test_no_file(self) -> None:
        with pytest.raises(CodeObjectError, match=r"nowhere\.co: No such file"):
            CodeObject.load("nowhere.co")
