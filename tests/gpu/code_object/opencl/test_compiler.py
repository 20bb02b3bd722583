"""Compiling, where a clang for AMDGPU is installed; the message where none is."""

from __future__ import annotations

import os
import sys
import time
import zipfile
from pathlib import Path

import pytest

from gpu.code_object import CodeObject, CompileError
from gpu.code_object.opencl import compiler as compile_module
from gpu.code_object.opencl.compiler import (
    COMPILER_VARIABLE,
    OPTIONS_VARIABLE,
    compile_kernels,
    compiler_version,
    find_compiler,
    first_able,
)
from tests.gpu.kernels.stored import CONFIGURATIONS, HERE, build, stored_bytes


@pytest.fixture
def clang() -> str:
    found = find_compiler()
    if found is None:
        pytest.skip("no clang that compiles for AMDGPU")
    return found


def test_a_source_becomes_an_object(clang: str) -> None:
    code_object = CodeObject.from_bytes(compile_kernels(HERE / "vadd.cl", clang))
    assert set(code_object.kernels) == {"vadd", "vadd_i"}


def test_a_program_compiles_by_itself(clang: str, tmp_path: Path) -> None:
    del clang
    assert set(CodeObject.compile(HERE / "vadd.cl", ["-O1"]).kernels) == {"vadd", "vadd_i"}
    with pytest.raises(CompileError, match=r"none\.cl: no such file"):
        CodeObject.compile(tmp_path / "none.cl")


def test_the_compilers_message_is_shown(clang: str, tmp_path: Path) -> None:
    source = tmp_path / "broken.cl"
    source.write_text("__kernel void k(__global int *a) { *a = b; }\n")
    with pytest.raises(CompileError, match="use of undeclared identifier 'b'"):
        compile_kernels(source, clang)


TEMPLATE = """
template <typename T> T twice(T x) { return x + x; }
__kernel void k(__global int *p) { p[get_global_id(0)] = twice(3); }
"""
PLAIN = """
__kernel void k(__global int *p, __global atomic_int *a) {
  atomic_fetch_add_explicit(a, 1, memory_order_relaxed, memory_scope_device);
  vstore4(vload4(0, p), 1, p);
  work_group_barrier(CLK_GLOBAL_MEM_FENCE);
}
"""
OLD = """
__kernel void k(__global int *p, __local int *l) {
  __global int *q = p + get_global_size(0);
  l[get_local_id(0)] = atomic_inc(q);
  barrier(CLK_LOCAL_MEM_FENCE);
  vstore2(vload2(0, l), 0, p);
}
"""


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("k.clcpp", TEMPLATE, ""),
        ("k.cl", TEMPLATE, "-cl-std=clc++"),
        ("k.cl", PLAIN, "-cl-std=CL3.0"),
        ("k.cl", OLD, "-cl-std=CL1.2"),
        ("k.cl", OLD, "-cl-std=CL1.1"),
        ("k.clcpp", PLAIN, ""),
    ],
)
def test_other_languages(
    name: str, text: str, options: str, clang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OPTIONS_VARIABLE, options)
    (tmp_path / name).write_text(text)
    try:
        code_object = CodeObject.from_bytes(compile_kernels(tmp_path / name, clang))
    except CompileError as error:
        if "invalid value" in str(error):
            pytest.skip(f"{clang} does not know {options}")
        raise
    assert list(code_object.kernels) == ["k"]


def test_the_language_is_named_in_errors(
    clang: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "k.cl"
    source.write_text(TEMPLATE)
    monkeypatch.delenv(OPTIONS_VARIABLE, raising=False)
    with pytest.raises(
        CompileError, match=r"as OpenCL C 2\.0; GCN_CLANG_OPTIONS=-cl-std=\.\.\. asks"
    ):
        compile_kernels(source, clang)
    with pytest.raises(CompileError, match=r"failed .with -cl-std=CL9.:"):
        compile_kernels(source, clang, options=["-cl-std=CL9"])
    monkeypatch.setenv(OPTIONS_VARIABLE, "-cl-std=CL9")
    with pytest.raises(CompileError, match=r"failed .GCN_CLANG_OPTIONS is -cl-std=CL9.:"):
        compile_kernels(source, clang)
    monkeypatch.setenv(OPTIONS_VARIABLE, "'x")
    with pytest.raises(CompileError, match="GCN_CLANG_OPTIONS='x: No closing quotation"):
        compile_kernels(source, clang)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("", "no clang that compiles for AMDGPU was found; set GCN_CLANG"),
        ("{tmp_path}/none", "GCN_CLANG=.*/none: there is no such program"),
        (sys.executable, "GCN_CLANG=.*: it does not compile and link for AMDGPU"),
    ],
)
def test_without_a_compiler(
    given: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.cl").write_text("__kernel void k(void) {}\n")
    monkeypatch.setenv(COMPILER_VARIABLE, given.format(tmp_path=tmp_path))
    monkeypatch.setattr(compile_module, "find_compiler", lambda: None)
    with pytest.raises(CompileError, match=message):
        compile_kernels(tmp_path / "k.cl")


def test_a_compiler_that_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its child processes, which hold the pipe of its output, end with it."""
    slow, source, begun = tmp_path / "slow", tmp_path / "k.cl", tmp_path / "begun"
    slow.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {begun}\nwait\n")
    slow.chmod(0o755)
    source.write_text("__kernel void k(void) {}\n")
    monkeypatch.setattr(compile_module, "_TIME_LIMIT_SECONDS", 2)
    with pytest.raises(CompileError, match="slow took more than 2 s"):
        compile_kernels(source, str(slow))
    for _ in range(500):
        if not _runs(int(begun.read_text())):
            return
        time.sleep(0.01)
    pytest.fail("what the compiler had started runs on")


def _runs(process: int) -> bool:
    """A process that has ended but was not waited for counts as ended, too."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_no_source() -> None:
    with pytest.raises(CompileError, match=r"nowhere\.cl: no such file"):
        compile_kernels("nowhere.cl")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMPILER_VARIABLE, "/nowhere/clang")
    find_compiler.cache_clear()
    try:
        with pytest.raises(CompileError, match=f"{COMPILER_VARIABLE}=/nowhere/clang: there is no"):
            compile_kernels(HERE / "vadd.cl")
    finally:
        find_compiler.cache_clear()


def test_a_compiler_that_cannot_link_is_passed_over(tmp_path: Path) -> None:
    writes = 'for word; do last="$word"; done; : > "$last"'
    for name, does in (("unlinked", "exit 1"), ("silent", "exit 0"), ("able", writes)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    unlinked, silent, able = (str(tmp_path / name) for name in ("unlinked", "silent", "able"))
    assert first_able(str(tmp_path / "none"), unlinked, silent) is None
    assert first_able(unlinked, silent, able) == able


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_stored_objects_are_what_the_sources_give(name: str) -> None:
    """The same compiler gives the same bytes; run ``python -m tests.gpu.kernels.stored`` else."""
    configuration = CONFIGURATIONS[name]
    clang = first_able(configuration.compiler)
    if clang is None:
        pytest.skip(f"no {configuration.compiler}")
    with zipfile.ZipFile(HERE / "objects" / f"{name}.zip") as archive:
        version = archive.comment.decode()
    if compiler_version(clang) != version:
        pytest.skip(f"{clang} is not {version}")
    changed = [
        source
        for source in configuration.sources
        if build(source, configuration) != stored_bytes(source, name)
    ]
    assert not changed
