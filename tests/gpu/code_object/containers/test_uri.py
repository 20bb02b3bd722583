"""URIs of code objects: D1's examples, what loading makes of them, and what is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.code_object import CodeObject, CodeObjectError
from gpu.code_object.containers.uri import CodeObjectUri, read_uri
from tests.gpu.kernels.stored import stored_bytes


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("file:///dir1/dir2/file1", CodeObjectUri("/dir1/dir2/file1")),
        ("file:///a#offset=0x2000&size=3000", CodeObjectUri("/a", offset=0x2000, size=3000)),
        ("file:///a?offset=010&size=0X20", CodeObjectUri("/a", offset=8, size=32)),
        ("file:///a%20b%C3%A9", CodeObjectUri("/a bé")),
        ("memory://1234#offset=0x20000&size=3000", CodeObjectUri("", 1234, 0x20000, 3000)),
    ],
)
def test_examples(text: str, uri: CodeObjectUri) -> None:
    assert read_uri(text) == uri


@pytest.mark.parametrize(
    "text",
    [
        "file://", "memory://", "memory://12", "memory://x#offset=0&size=1",
        "memory://1#offset=0&size=09", "file:///a#offset=0x&size=1", "file:///a#offset=1&size=0xg0",
    ],
)  # fmt: skip
def test_what_the_grammar_does_not_have(text: str) -> None:
    if text.endswith("size=0xg0"):  # then all of it is a path
        assert read_uri(text).path == "/a#offset=1&size=0xg0"
        return
    with pytest.raises(CodeObjectError, match=r"no URI of a code object|no number of C"):
        read_uri(text)


@given(
    st.text(min_size=1).filter(lambda text: text.isprintable()),
    st.none() | st.tuples(st.integers(0, 1 << 60), st.integers(0, 1 << 60)),
)
def test_what_is_written_is_read(path: str, part: tuple[int, int] | None) -> None:
    uri = CodeObjectUri(path) if part is None else CodeObjectUri(path, 0, *part)
    assert read_uri(str(uri)) == uri


def test_files_and_parts_of_them_load(tmp_path: Path) -> None:
    data = stored_bytes("vadd")
    path = tmp_path / "a b.bin"
    path.write_bytes(b"xyz" + data + b"rest")
    uri = f"file://{tmp_path}/a%20b.bin#offset=3&size={len(data)}"
    found = CodeObject.load(uri)
    assert found.uri == uri.replace("offset=3", "offset=0x3")
    path.write_bytes(data)
    assert CodeObject.load(path).uri == f"file://{tmp_path}/a%20b.bin"
    with pytest.raises(CodeObjectError, match=f"the file has {len(data)} bytes"):
        CodeObject.load(uri)
    with pytest.raises(CodeObjectError, match="memory of a process cannot be read"):
        CodeObject.load("memory://1#offset=0&size=4")


def test_an_object_in_memory_has_its_place_there() -> None:
    data = stored_bytes("vadd")
    uri = read_uri(CodeObject.from_bytes(data).uri)
    assert (uri.process, uri.size) == (os.getpid(), len(data))
    assert uri.offset > 0
