"""printf in kernels: from the buffer to the text."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from gpu import CodeObject, Device, Signal
from gpu.code_object.metadata import PrintfFormat
from gpu.code_object.opencl.compiler import compile_kernels, compiler_version, first_able
from gpu.errors import KernelError
from gpu.host.device_core import Options
from gpu.host.printf import as_text, formatted
from gpu.memory.coherent.factory import load_system
from tests.gpu.cli.calling import gcn
from tests.gpu.memory.coherent.opened import python_memory

HERE = Path(__file__).parent
BUILT = ("clang14-O2", "clang19-O2")
"""Objects of versions 4 and 5, whose hidden arguments lie elsewhere."""


@cache
def code(built: str) -> CodeObject:
    return CodeObject.load(str(HERE / f"{built}.co"))


def printing_device(printed: list[str], coherent: bool, room: int = 1 << 16) -> Device:
    options = Options(printf=printed.append, printf_bytes=room)
    if not coherent:
        return Device(cus=2, options=options)
    memory = python_memory(load_system("GPU_VIPER", cus=2, tccs=2))
    return Device(memory=memory, options=options)


@pytest.mark.parametrize("coherent", [False, True])
@pytest.mark.parametrize("built", BUILT)
def test_what_a_kernel_prints(built: str, coherent: bool) -> None:
    printed: list[str] = []
    device = printing_device(printed, coherent)
    x = device.alloc(np.array([-7, 8, 9], np.int32))
    queue, done = device.create_queue(), Signal(1)
    queue.dispatch(code(built)["hello"], 3, 64, [x, 1.5], completion=done)
    queue.ring()
    assert printed == []
    device.run(until=done)
    lines = [f"i={i} x={x:5d} f=1.50 s=abc" for i, x in enumerate((-7, 8, 9))]
    assert sorted("".join(printed).splitlines()) == sorted(
        [*lines, "one: 1,-2,3,4|123456789abc|z|%", "two"]
    )
    device.run()
    assert len(printed) == 1, "it is printed once"


@pytest.mark.parametrize("built", BUILT)
def test_what_a_kernel_printed_before_it_failed(built: str) -> None:
    printed: list[str] = []
    device = printing_device(printed, coherent=False)
    queue, x = device.create_queue(), device.alloc(np.zeros(1, np.int32))
    queue.dispatch(code(built)["last_words"], 2, 64, [x, 3])
    queue.ring()
    with pytest.raises(KernelError, match="nothing is mapped there"):
        device.run()
    assert "".join(printed) == "before 3\nbefore 3\n"


@pytest.mark.parametrize("built", BUILT)
def test_what_does_not_fit_is_lost(built: str) -> None:
    """A record of a number and two arguments of 4 and 8 bytes is 16 bytes long."""
    printed: list[str] = []
    device = printing_device(printed, coherent=False, room=8 + 16 * 5 + 12)
    queue = device.create_queue()
    for _ in range(2):
        queue.dispatch(code(built)["chatter"], 1, 64, [100])
    queue.ring()
    device.run()
    assert printed == ["".join(f"{i}.0\n" for i in range(5))] * 2


def test_the_command_prints_it(tmp_path: Path) -> None:
    answer = gcn("run", str(HERE / "clang14-O2.co"), "chatter", "--grid", "1", "--arg", "i32=2",
                 "--functional", "-q")  # fmt: skip
    assert (answer.status, answer.out) == (0, "0.0\n1.0\n")


@pytest.mark.parametrize("built", BUILT)
def test_objects_are_those_of_the_source(built: str) -> None:
    clang = first_able(built.replace("clang", "clang-").partition("-O")[0])
    if clang is None:
        pytest.skip("that clang is not installed")
    if not compiler_version(clang).startswith(("14.0.6", "19.1.")):
        pytest.skip("another version of clang")
    made = CodeObject.from_bytes(compile_kernels(HERE / "printing.cl", clang), built)
    assert made.metadata.printf == code(built).metadata.printf
    assert made["hello"].metadata.arguments == code(built)["hello"].metadata.arguments


# ------------------------------------------------------------------ formats


def i32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("%d %i", [i32(-1), i32(7)], "-1 7"),
        ("%u %x %#X %o %#o", [i32(-1)] * 5, f"4294967295 ffffffff 0XFFFFFFFF {-1 & 0xFFFFFFFF:o} "
         f"0{-1 & 0xFFFFFFFF:o}"),
        ("%#x %#o", [i32(0)] * 2, "0 0"),
        ("[%5d|%-5d|%05d|%+d|% d|%.3d]", [i32(42)] * 6, "[   42|42   |00042|+42| 42|042]"),
        ("%hhd %hhu %hd", [i32(0x1FF), i32(0x1FF), i32(0x18000)], "-1 255 -32768"),
        ("%ld %lu", [struct.pack("<q", -1)] * 2, "-1 18446744073709551615"),
        ("%f %e %G", [struct.pack("<f", 0.5)] * 3, "0.500000 5.000000e-01 0.5"),
        ("%f %a", [struct.pack("<d", -2.5)] * 2, "-2.500000 -0x1.4000000000000p+1"),
        ("%f %F", [struct.pack("<f", float("inf")), struct.pack("<f", float("nan"))], "inf NAN"),
        ("%v2hlf", [struct.pack("<2f", 1.0, 2.5)], "1.000000,2.500000"),
        ("%v3hhd", [struct.pack("<4b", 1, -1, 3, 0)], "1,-1,3"),
        ("%v3d", [i32(1, 2, 3)], "1,2,3"),
        ("%v2lx", [struct.pack("<2Q", 1, 1 << 63)], "1,8000000000000000"),
        ("%3c|%-3c|%s|%.2s|%5s", [i32(65), i32(66), b"ab\0x", b"abc\0", b"ab\0\0"],
         "  A|B  |ab|ab|   ab"),
        ("%p", [struct.pack("<Q", 0x1234)], "0x1234"),
        (r"100%% a\72b\n\tq", [], "100% a:b\n\tq"),
        ("%d %d", [i32(1)], "1 %d"),
        ("%q %*d %d", [i32(1)], "%q %*d 1"),
        ("%d", [b"abc"], "%d"),
    ],
)  # fmt: skip
def test_formats(text: str, arguments: list[bytes], expected: str) -> None:
    """As OpenCL C 6.13.13 says; what is none of its conversions stays as it is."""
    assert formatted(text, arguments) == expected


def test_records_that_make_no_sense() -> None:
    formats = {1: PrintfFormat(1, (4, -3), "%d\\n"), 2: PrintfFormat(2, (1 << 60,), "%s\\n")}
    whole = i32(1, 5) + i32(1, 6)
    assert as_text(whole, formats) == "5\n6\n"
    assert as_text(i32(1), formats) == "%d\n"
    assert as_text(i32(2) + b"ab\0\0", formats) == "ab\n"
    assert as_text(i32(9, 1, 1), formats) == "<printf 9: the code object has no such format>\n"
