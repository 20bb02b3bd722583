"""``gcn info``, ``disasm`` and ``occupancy``, as they are called."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from gpu.cli.inspect.disasm import disassemble
from gpu.code_object import CodeObject, CodeObjectError
from gpu.code_object.opencl.compiler import find_compiler
from slicc.text.command.exit_status import NO_READER
from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import CONFIGURATIONS, HERE, stored, stored_bytes


@pytest.fixture
def vadd(tmp_path: Path) -> str:
    path = tmp_path / "vadd.co"
    path.write_bytes(stored_bytes("vadd"))
    return str(path)


def test_info(vadd: str) -> None:
    status, out, err = gcn("info", vadd)
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == (
        f"{vadd}: code object version 4 for amdgcn-amd-amdhsa--gfx803, 2 kernels"
    )
    assert "kernel vadd (OpenCL C 2.0)" in out
    assert "      24    4  by_value                 uint n\n" in out
    assert "s[6:7] kernarg_segment_ptr, s8 work_group_id_x, v0 work_item_id_x" in out


def test_info_for_programs(vadd: str) -> None:
    status, out, _ = gcn("info", vadd, "--format", "json")
    info = json.loads(out)
    assert status == 0
    assert [kernel["name"] for kernel in info["kernels"]] == ["vadd", "vadd_i"]
    assert info["kernels"][0]["arguments"][3] == {
        "offset": 24, "size": 4, "kind": "by_value", "type": "uint", "name": "n", "hidden": False,
    }  # fmt: skip


def test_info_of_another_processor(tmp_path: Path) -> None:
    path = tmp_path / "vadd.co"
    path.write_bytes(stored_bytes("vadd", "clang19-O2-gfx1030"))
    status, out, _ = gcn("info", str(path))
    assert status == 0
    assert "cannot run: compiled for gfx1030; only gfx803 and gfx900 run" in out
    assert "registers   6 vector, 11 scalar\n" in out  # allocated in units that we do not know
    status, out, err = gcn("occupancy", str(path), "vadd")
    assert (status, out) == (2, "")
    assert "kernel vadd cannot run: compiled for gfx1030" in err


@pytest.mark.parametrize("more", [[], ["--kernel", "vadd"]])
def test_instructions_that_are_not_known_are_not_printed(more: list[str], tmp_path: Path) -> None:
    path = tmp_path / "vadd.co"
    path.write_bytes(stored_bytes("vadd", "clang19-O2-gfx1030"))
    status, out, err = gcn("disasm", str(path), *more)
    assert (status, out) == (2, "")
    assert "compiled for gfx1030; only code for gfx803, gfx900 and their like is read" in err


def test_processors_of_the_same_generation_are_read(vadd: str) -> None:
    """The last byte of the ELF header's flags names the processor: gfx801, gfx90a."""
    data = bytearray(Path(vadd).read_bytes())
    data[48] = 0x28
    assert list(disassemble(CodeObject.from_bytes(bytes(data)))) == list(
        disassemble(stored("vadd"))
    )
    data[48] = 0x3F
    with pytest.raises(CodeObjectError, match="compiled for gfx90a"):
        next(disassemble(CodeObject.from_bytes(bytes(data))))


def test_a_file_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.co"
    path.write_bytes(stored_bytes("vadd").replace(b"OpenCL C", b"Ope\x1b[2JC"))
    status, out, _ = gcn("info", str(path))
    assert status == 0
    assert "\x1b" not in out and r"Ope\x1b[2JC" in out


def test_a_file_cannot_speak_to_the_terminal_through_an_error(tmp_path: Path) -> None:
    path = tmp_path / "evil.co"
    path.write_bytes(stored_bytes("vadd").replace(b"vadd_i", b"va\x1b[2J"))
    status, out, err = gcn("occupancy", str(path), "sub")
    assert (status, out) == (2, "")
    assert "\x1b" not in err and r"va\x1b[2J" in err


def test_a_reader_that_goes_away(vadd: str) -> None:
    call = [sys.executable, "-m", "gpu.cli", "disasm", vadd]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == NO_READER


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "nowhere.co"], r"gcn: nowhere\.co: No such file or directory"),
        (["info", __file__], r"gcn: .*offset 0x0: not an ELF file: it starts with 22 22 22"),
        (["disasm", "{vadd}", "--kernel", "sub"], r"no kernel 'sub'; it has: vadd, vadd_i"),
        (["occupancy", "{vadd}", "sub"], r"no kernel 'sub'"),
        (["occupancy", "{vadd}", "vadd", "--group", "a"], r"group 'a' is not X, X,Y or X,Y,Z"),
        (["occupancy", "{vadd}", "vadd", "--group", "64,64"], r"has 4096 work-items; .* 1024"),
        (["occupancy", "{vadd}", "vadd", "--local", "-1"], r"local: -1 is no number of bytes"),
        (["nothing"], r"No such command"),
    ],
)
def test_mistakes_are_reported(words: list[str], message: str, vadd: str) -> None:
    status, out, err = gcn(*(word.format(vadd=vadd) for word in words))
    assert (status, out) == (2, "")
    assert re.search(message, err)
    assert "Traceback" not in err


def test_occupancy_of_registers_and_lds(tmp_path: Path) -> None:
    path = tmp_path / "matmul.co"
    path.write_bytes(stored_bytes("matmul"))
    status, out, _ = gcn("occupancy", str(path), "matmul", "--local", "20000")
    assert status == 0
    assert out.splitlines()[1:] == [
        "  a group takes   4 waves of 20 VGPRs and 16 SGPRs, 22528 bytes of LDS",
        "  a unit holds    2 groups, 8 of 40 waves",
        "  limited by      LDS",
    ]


def test_disassembly_of_one_kernel(vadd: str) -> None:
    status, out, _ = gcn("disasm", vadd, "--kernel", "vadd")
    lines = [line.split("//")[0].strip() for line in out.splitlines()]
    assert status == 0
    assert (lines[0], lines[1]) == ("vadd:", "s_load_dword s0, s[4:5], 0x4")
    assert lines[-2:] == ["s_endpgm", ""]


def test_what_is_no_instruction_is_data() -> None:
    original = stored("vadd")
    offset = original.elf.file_offset(original["vadd"].entry)
    assert offset is not None
    data = bytearray(stored_bytes("vadd"))
    data[offset : offset + 4] = b"\xff\xff\xff\xff"
    lines = list(disassemble(CodeObject.from_bytes(bytes(data)), "vadd"))
    assert lines[1].split("//")[0].strip() == ".long 0xffffffff"


def test_a_literal_that_is_an_inline_constant_is_data() -> None:
    """As text, an assembler would encode it in one word instead of two."""
    text = "\n".join(disassemble(stored("calls"), "call1"))
    assert re.search(r"\.long 0x8205ff05, 0xffffffff +// .*  s_addc_u32 s5, s5, -1", text)


LLVM = next(
    (
        found
        # The newest first: older ones refuse some of what newer compilers write.
        for suffix in (*(f"-{version}" for version in range(29, 13, -1)), "")
        if (found := shutil.which(f"llvm-mc{suffix}"))
    ),
    None,
)


def _release(assembler: str) -> int:
    shown = subprocess.run([assembler, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"version (\d+)", shown.stdout)
    return int(found[1]) if found else 0


@pytest.mark.skipif(LLVM is None, reason="no llvm-mc")
@pytest.mark.parametrize(
    "configuration",
    [
        "clang14-O2",
        pytest.param("clang19-O2", marks=pytest.mark.slow),
        pytest.param("clang14-O0", marks=pytest.mark.slow),
    ],
)
def test_an_assembler_takes_the_text_back(configuration: str, tmp_path: Path) -> None:
    """Every stored kernel, byte by byte."""
    if configuration.startswith("clang19") and _release(str(LLVM)) < 15:
        pytest.skip("this llvm-mc refuses v_writelane_b32 with two scalar registers")
    text, output = tmp_path / "k.s", tmp_path / "k.o"
    lines, expected = [], {}
    for number, source in enumerate(CONFIGURATIONS[configuration].sources):
        code_object = stored(source, configuration)
        own = (line.split("//")[0] for line in disassemble(code_object))
        lines += [re.sub(r"\bL_", f"L{number}_", line) for line in own]
        expected[source] = b"".join(
            code_object.elf.read(each.address, each.size) or b"" for each in code_object.functions()
        )
    text.write_text("\n".join(lines) + "\n")
    subprocess.run(
        [str(LLVM), "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx803", "-filetype=obj", str(text),
         "-o", str(output)], check=True, timeout=120,
    )  # fmt: skip
    with output.open("rb") as file:
        assembled = io.BytesIO(ELFFile(file).get_section_by_name(".text").data())
    for source, code in expected.items():
        assert assembled.read(len(code)) == code, source
    assert not assembled.read()


def test_sources_are_compiled_or_what_is_missing_is_reported() -> None:
    status, out, err = gcn("info", str(HERE / "vadd.cl"))
    if status == 0:
        assert "kernel vadd " in out
    else:
        assert status == 2 and "set GCN_CLANG" in err


def test_options_of_a_source_reach_the_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The compiler is one that writes down how it was called."""
    clang, source = tmp_path / "clang", tmp_path / "k.cl"
    clang.write_text(
        '#!/bin/sh\nfor word; do last="$word"; done\n'
        f'echo "$@" > {tmp_path}/called\ncp {tmp_path}/vadd.co "$last"\n'
    )
    clang.chmod(0o755)
    source.write_text("__kernel void k(void) {}\n")
    (tmp_path / "vadd.co").write_bytes(stored_bytes("vadd"))
    monkeypatch.setenv("GCN_CLANG", str(clang))
    find_compiler.cache_clear()
    request.addfinalizer(find_compiler.cache_clear)
    words = ("-D", "N=4", "-DM", "-I", "a b", "-cl-mad-enable", "--build-option", "-cl-opt-disable")
    assert gcn("info", str(source), *words).status == 0
    called = (tmp_path / "called").read_text()
    assert " -DN=4 -DM -Ia b -cl-mad-enable -cl-opt-disable " in called
    assert "-nogpulib" in called


def test_options_of_a_source_that_cannot_be_obeyed(vadd: str) -> None:
    assert "-D, -I, -cl-: it is compiled already" in gcn("info", vadd, "-cl-mad-enable").err
    assert "--device-libs: it is compiled already" in gcn("info", vadd, "--device-libs", ".").err
    refused = gcn("info", vadd, "--build-option", "-O3")
    assert refused.status == 2
    assert "'-O3' is no option of OpenCL's compiler" in refused.err
