"""Files that call functions of device libraries: linked where these are, named where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpu.code_object import CompileError
from gpu.code_object.opencl import compiler as opencl_compiler
from gpu.code_object.opencl import device_libraries
from gpu.code_object.opencl.compiler import COMPILER_VARIABLE, compile_kernels, find_compiler
from gpu.code_object.opencl.device_libraries import TooNew, find_libraries, undefined_functions
from tests.gpu.cli.calling import gcn

UNDEFINED = """\
ld.lld: error: undefined hidden symbol: sin(float)
>>> referenced by /tmp/m.o:(m)

ld.lld: error: undefined symbol: work_group_any(int)
>>> referenced by /tmp/m.o:(m)

ld.lld: error: undefined hidden symbol: sin(float)
"""
OLD_READER = (
    "fatal error: cannot open file 'opencl.bc': Opaque pointers are only supported in "
    "-opaque-pointers mode (Producer: 'LLVM15.0.5' Reader: 'LLVM 14.0.6')"
)
MATHS = """
__kernel void maths(__global float *a, __global float *b) {
  size_t i = get_global_id(0);
  b[i] = sin(a[i]) + erf(a[i]) + fmod(a[i], 3.0f);
}
__kernel void scan(__global uint *b) {
  b[get_global_id(0)] = work_group_scan_inclusive_add((uint)get_global_id(0));
}
"""

Clang = Callable[..., str]


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    folder = tmp_path / "rocm" / "amdgcn" / "bitcode"
    folder.mkdir(parents=True)
    for name in ("opencl.bc", "ocml.bc", "ockl.bc"):
        (folder / name).touch()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "m.cl"
    path.write_text(MATHS)
    return path


@pytest.fixture
def fake(tmp_path: Path) -> Clang:
    """A compiler that needs libraries; with them, it writes its name, or fails with a message."""

    def made(name: str = "clang", message: str = "", undefined: str = UNDEFINED) -> str:
        (tmp_path / f"{name}.txt").write_text(message)
        script = tmp_path / name
        script.write_text(
            "#!/bin/sh\n"
            'for word; do last="$word"; done\n'
            'case "$*" in\n'
            "*-nogpulib*) cat <<'END' >&2\n" + undefined + "END\nexit 1;;\n"
            f'*) if [ -s "$0.txt" ]; then cat "$0.txt" >&2; exit 1; fi; echo {name} "$@" > "$last"'
            ";;\nesac\n"
        )
        script.chmod(0o755)
        return str(script)

    return made


def installed_in(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setattr(device_libraries, "_installed", lambda: iter(folders))


def test_each_undefined_function_is_named_once() -> None:
    assert undefined_functions(UNDEFINED) == ["sin(float)", "work_group_any(int)"]


def test_libraries_are_linked_where_they_are_needed(
    fake: Clang, source: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(monkeypatch, source.parent, libraries.parents[1])
    words = compile_kernels(source, fake()).decode().split()
    assert f"--rocm-device-lib-path={libraries}" in words


def test_those_that_are_given_are_linked_in_any_case(
    fake: Clang, source: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(monkeypatch)
    words = compile_kernels(source, fake(), device_libs=libraries).decode().split()
    assert f"--rocm-device-lib-path={libraries}" in words
    with pytest.raises(CompileError, match=r"--device-libs .*: there are no device libraries"):
        compile_kernels(source, fake(), device_libs=source.parent)


def test_without_libraries_the_message_names_functions_and_package(
    fake: Clang, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(monkeypatch)
    with pytest.raises(CompileError, match=r"have sin\(float\), work_group_any\(int\).*rocm-dev"):
        compile_kernels(source, fake())


def test_images_need_no_libraries_because_they_do_not_run(
    fake: Clang, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(monkeypatch)
    call = "read_imagef(ocl_image2d_ro, ocl_sampler, int vector[2])"
    undefined = UNDEFINED.replace("work_group_any(int)", call)
    with pytest.raises(CompileError) as raised:
        compile_kernels(source, fake(undefined=undefined))
    assert str(raised.value).endswith(
        f"{call}: images are not modelled, with device libraries or without"
    )


def test_a_later_compiler_reads_what_an_older_one_cannot(
    fake: Clang, source: Path, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed_in(monkeypatch, libraries)
    monkeypatch.delenv(COMPILER_VARIABLE, raising=False)
    old, later = fake("old", OLD_READER), fake("clang-15")
    monkeypatch.setattr(opencl_compiler, "first_able", lambda *names: None)
    with pytest.raises(TooNew, match=r"by LLVM 14\.0\.6: install clang-15 or a later one"):
        compile_kernels(source, old)
    asked: list[str] = []
    monkeypatch.setattr(opencl_compiler, "first_able", lambda *names: asked.extend(names) or later)
    assert compile_kernels(source, old).startswith(b"clang-15 ")
    assert (asked[0], asked[-1]) == ("clang-29", "clang-15")
    monkeypatch.setenv(COMPILER_VARIABLE, old)
    with pytest.raises(TooNew):
        compile_kernels(source, old)


def test_an_own_message_of_the_compiler_stays(fake: Clang, source: Path, libraries: Path) -> None:
    with pytest.raises(CompileError, match="no ABI version 7"):
        compile_kernels(source, fake("clang", "no ABI version 7"), device_libs=libraries)


@pytest.mark.slow
def test_kernels_run_with_the_libraries_of_this_machine(source: Path, tmp_path: Path) -> None:
    if find_compiler() is None or find_libraries() is None:
        pytest.skip("no clang that compiles for AMDGPU, or no device libraries")
    try:
        compile_kernels(source)
    except TooNew as error:
        pytest.skip(str(error))
    saved = tmp_path / "b.npy"
    maths = ["run", str(source), "maths", "--grid", "128", "--arg", "f32[128]=iota"]
    assert gcn(*maths, "--arg", "out:f32[128]", "--save", f"1={saved}").status == 0
    x = np.arange(128, dtype=np.float64)
    erf = np.where(x == 0, 0.0, np.where(x == 1, 0.84270079, np.where(x == 2, 0.99532227, 1.0)))
    erf[3] = 0.99997791
    np.testing.assert_allclose(np.load(saved), np.sin(x) + erf + np.fmod(x, 3), atol=1e-5)
    scan = ["run", str(source), "scan", "--grid", "256", "--group", "256", "--arg", "out:u32[256]"]
    assert gcn(*scan, "--save", f"0={saved}").status == 0
    assert np.array_equal(np.load(saved), np.arange(256).cumsum())
