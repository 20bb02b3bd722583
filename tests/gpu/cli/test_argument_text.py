"""Arguments as they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu.cli.argument_text import (
    ArgumentTextError,
    BufferArgument,
    PlainArgument,
    read_argument,
)
from gpu.cli.sizes import SizeError, read_size
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
        ("i32[2,3]=iota:-1", np.arange(-1, 5, dtype=np.int32).reshape(2, 3)),
        ("f64[2]=1e300,-0.5", np.array([1e300, -0.5])),
        ("u8[3]=0xff", np.full(3, 255, np.uint8)),
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
    dice = buffer("i8[4096]=random:4:-3:4").values
    assert set(dice.tolist()) == set(range(-3, 4))
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1024", "is neither a value"),
        ("f33=1", "'f33' is no element type"),
        ("f32[]", "'' is not a number of elements"),
        ("f32[0]", r"\[0\] has no elements"),
        ("f64[1,1000000000]", "8000000000 bytes are more than"),
        ("f32[4]=1,2", "2 elements are given for 4"),
        ("u8[4]=256", "256 does not fit 8 bits"),
        ("i32=1.5", "1.5 is not an integer"),
        ("i32=inf", "inf is not an integer"),
        ("f32=x", "'x' is not a number"),
        ("f32x4=1,2", "takes 4 values, 2 are given"),
        ("f32x5=1,2,3,4,5", "is neither a value"),
        ("out:u32=4", "only buffers go in or out"),
        ("i32[4]=random", "is not random:SEED"),
        ("u8[4]=random:1:5:5", "5 to 5 is no range"),
        ("i32[4]=iota:1:2:3", "has too many numbers"),
        ("bytes=0", "is not hexadecimal"),
        ("local=x", "'x' is not bytes of LDS"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(ArgumentTextError, match=message) as caught:
        read_argument(text)
    assert str(caught.value).startswith(f"argument {text!r}: ")


def test_sizes() -> None:
    assert read_size("64", "grid", 100) == ((64, 1, 1), 1)
    assert read_size("16x4", "grid", 100) == ((16, 4, 1), 2)
    assert read_size("1,2,3", "grid", 100) == ((1, 2, 3), 3)
    for text in ("", "1,", "1,2,3,4", "-1", "0x10", "1.5"):
        with pytest.raises(SizeError, match=r"is not X, X,Y or X,Y,Z|is not 1 to 100"):
            read_size(text, "grid", 100)
    with pytest.raises(SizeError, match="101 is not 1 to 100"):
        read_size("101", "grid", 100)
