"""Arguments as they are written."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from gpu.cli.common.grid_size import SizeError, read_size
from gpu.cli.run.argument_parser import (
    ArgumentTextError,
    BufferArgument,
    PlainArgument,
    read_argument,
)
from gpu.code_object import LocalBytes


def buffer(text: str) -> BufferArgument:
    argument = read_argument(text)
    assert isinstance(argument, BufferArgument)
    return argument


def plain(text: str) -> object:
    argument = read_argument(text)
    assert isinstance(argument, PlainArgument)
    return argument.value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f32[3]", np.zeros(3, np.float32)),
        ("i32[4]=iota", np.arange(4, dtype=np.int32)),
        ("u16[3]=iota:5:10", np.array([5, 15, 25], np.uint16)),
        ("u8[3]=iota:255", np.array([255, 0, 1], np.uint8)),
        ("u64[2]=iota:18446744073709551615", np.array([(1 << 64) - 1, 0], np.uint64)),
        ("i32[3]=iota:-1:0.75", np.array([-1, 0, 0], np.int32)),
        ("f64[2]=iota:9007199254740993:2", np.array([2.0**53, 2.0**53 + 4])),
        ("f16[2]=iota:1e9", np.array([np.inf, np.inf], np.float16)),
        ("i32[2,3]=iota:-1", np.arange(-1, 5, dtype=np.int32).reshape(2, 3)),
        ("f64[2]=1e300,-0.5", np.array([1e300, -0.5])),
        ("u8[3]=0xff", np.full(3, 255, np.uint8)),
        ("f16[2]=65504,65519", np.array([65504, 65504], np.float16)),
        ("f32[2]=-Infinity,nan", np.array([-np.inf, np.nan], np.float32)),
        ("f32[2]=inf,nan", np.array([np.inf, np.nan], np.float32)),
        ("i64[1]=-5", np.array([-5], np.int64)),
    ],
)
def test_buffers(text: str, values: np.ndarray) -> None:  # type: ignore[type-arg]
    found = buffer(text).values
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)


def test_shown_buffers() -> None:
    assert not buffer("in:f32[4]").shown
    assert buffer("out:f32[4]").shown and buffer("inout:i32[4]=iota").shown


def test_random_numbers_never_change() -> None:
    """The same on every machine: from our own hash."""
    assert (
        buffer("u32[3]=random:1").values.tolist() == buffer("u32[5]=random:1").values.tolist()[:3]
    )
    assert buffer("u32[64]=random:1").values.tolist() != buffer("u32[64]=random:2").values.tolist()
    floats = buffer("f32[4096]=random:3").values
    assert 0 <= floats.min() < 0.01 and 0.99 < floats.max() < 1 and abs(floats.mean() - 0.5) < 0.03
    signed = buffer("f32[4096]=random:3:-2:2").values
    assert -2 <= signed.min() < -1.9 and 1.9 < signed.max() < 2
    values = buffer("i8[4096]=random:4:-3:4").values
    assert set(values.tolist()) == set(range(-3, 4))
    octets = buffer("u8[4096]=random:9").values
    assert len(set(octets.tolist())) == 256
    wide = buffer("u64[64]=random:5:0:18446744073709551615").values
    assert wide.max() > 1 << 63


def test_plain_values() -> None:
    assert plain("u32=1024") == np.uint32(1024)
    assert plain("f32=-1.5") == np.float32(-1.5)
    assert plain("local=4096") == LocalBytes(4096)
    assert plain("bytes=00ff10") == b"\x00\xff\x10"
    assert plain("null") is None
    vector = plain("f32x4=1,2,3,4")
    assert isinstance(vector, np.ndarray) and vector.tolist() == [1, 2, 3, 4]


def test_numpy_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    values = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save(path, values)
    np.testing.assert_array_equal(buffer(str(path)).values, values)
    assert buffer(f"out:{path}").shown
    assert buffer(f"i16[6]={path}").values.tolist() == [0, 1, 2, 3, 4, 5]
    for text, message in (
        (f"i16[7]={path}", "has 6 elements, not 7"),
        (f"f32[6]={path}", "holds int16, not float32"),
        (f"{tmp_path}/b.npy", "cannot read .*b.npy: No such file"),
    ):
        with pytest.raises(ArgumentTextError, match=message):
            read_argument(text)
    np.save(path, np.array(["text"]))
    with pytest.raises(ArgumentTextError, match="holds no array of i8 i16"):
        read_argument(str(path))
    path.write_bytes(b"nothing")
    with pytest.raises(ArgumentTextError, match="is not a numpy file"):
        read_argument(str(path))


def _numpy_file(header: str, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


FOUR = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s,)}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_numpy_file(FOUR % "1 << 40"), "is not a numpy file"),
        (_numpy_file(FOUR % (1 << 40)), f"has 0 elements, and says that there are {1 << 40}"),
        (_numpy_file(FOUR % 2, bytes(7)), "is not a whole numpy file"),
        (_numpy_file(FOUR % ",".join(["1"] * 70), bytes(4)), "is not a whole numpy file"),
        (_numpy_file(FOUR % 0), "holds no elements"),
        (_numpy_file(FOUR.replace("<f4", "O") % 1), "holds no array of i8"),
        (_numpy_file(FOUR.replace("<f4", "\x1b[2J") % 1), "is not a numpy file"),
        (_numpy_file("-" * 9000 + "1"), "is not a numpy file"),
        (_numpy_file("{'descr': (("), "is not a numpy file"),
        (_numpy_file("x" * 20000), "is not a numpy file"),
        (b"\x93NUMPY\3\0", "is not a numpy file"),
        (b"PK\3\4", "is not a numpy file"),
        (b"", "is not a numpy file"),
    ],
)
def test_hostile_numpy_files(content: bytes, message: str, tmp_path: Path) -> None:
    """Nothing is allocated that the file does not fill, and no error of the reader is shown."""
    path = tmp_path / "hostile.npy"
    path.write_bytes(content)
    with pytest.raises(ArgumentTextError, match=message) as caught:
        read_argument(str(path))
    assert len(str(caught.value)) < 300


def test_numpy_files_of_other_orders(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    values = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    np.save(path, values)
    found = buffer(str(path)).values
    assert found.dtype == np.dtype("<i4") and found.flags.c_contiguous
    np.testing.assert_array_equal(found, values)
    path.write_bytes(_numpy_file(FOUR % "2L", bytes(8)))  # as Python 2 wrote them
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert buffer(str(path)).values.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1024", "is neither a value"),
        ("f33=1", "'f33' is no element type"),
        ("f32[]", "'' is not a number of elements"),
        ("f32[0]", r"\[0\] has no elements"),
        ("f64[1,1000000000]", "8000000000 bytes are more than"),
        ("f32[4]=1,2", "2 elements are given for 4"),
        ("u8[4]=256", "'256' does not fit 8 bits"),
        ("i32=1.5", "'1.5' is not an integer"),
        ("i32=inf", "'inf' does not fit 32 bits"),
        ("f32=x", "'x' is not a number"),
        ("f32x4=1,2", "takes 4 values, 2 are given"),
        ("f32x5=1,2,3,4,5", "is neither a value"),
        ("out:u32=4", "only buffers go in or out"),
        ("i32[4]=random", "is not random:SEED"),
        ("u8[4]=random:1:5:5", "5 to 5 is no range"),
        ("f32[4]=random:1:5:5", "5 to 5 is no range of float32"),
        ("f32[4]=random:1:5:2", "5 to 2 is no range of float32"),
        ("f32[4]=random:1:nan:2", "nan to 2 is no range of float32"),
        ("f16[4]=random:1:0:65520", "0 to 65520 is no range of float16"),
        ("f16[4]=99999", "'99999' does not fit 16 bits"),
        ("f16=-65520", "'-65520' does not fit 16 bits"),
        ("f32[2]=1,1e99", "'1e99' does not fit 32 bits"),
        ("f64=1e999", "'1e999' does not fit 64 bits"),
        ("i32[4]=iota:1:2:3", "has too many numbers"),
        ("bytes=0", "is not hexadecimal"),
        ("local=x", "'x' is not bytes of LDS"),
        ("u8[4]=iota:1e308", "'iota:1e308' leaves the integers of 64 bits"),
        ("u8[4]=iota:nan", "'iota:nan' leaves the integers"),
        ("f32[4]=random:1:-inf:1", "-inf to 1 is no range of float32"),
        ("f64[4]=random:1:-1e308:1e308", "-1e[+]308 to 1e[+]308 is no range"),
        ("u32=" + "9" * 400, "9...' does not fit 32 bits"),
        ("f32[" + "1," * 40 + "1]", "41 dimensions are more than 32"),
        ("/dev/zero.npy", "cannot read /dev/zero.npy"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ArgumentTextError, match=message) as caught:
        read_argument(text)
    assert str(caught.value).startswith(f"argument {text[:50]!r}"[:50])


def test_sizes() -> None:
    assert read_size("64", "grid", 100) == ((64, 1, 1), 1)
    assert read_size("16x4", "grid", 100) == ((16, 4, 1), 2)
    assert read_size("1,2,3", "grid", 100) == ((1, 2, 3), 3)
    for text in ("", "1,", "1,2,3,4", "-1", "0x10", "1.5"):
        with pytest.raises(SizeError, match=r"is not X, X,Y or X,Y,Z|is not 1 to 100"):
            read_size(text, "grid", 100)
    with pytest.raises(SizeError, match="101 is not 1 to 100"):
        read_size("101", "grid", 100)
