"""Mathematical functions of the device library that compilers come with, run on the model.

They are made of nearly every arithmetic instruction there is, and how far they may be off is
written down (OpenCL C specification 3.0, section 7.4). Looks for ``ocml.bc`` beside a clang, or in
``$DEVICE_LIBRARY``; a clang older than the library cannot read it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu.code_object import CodeObject
from gpu.code_object.opencl.compiler import CompileError, compile_kernels, find_compiler
from gpu.host.device import Device

pytestmark = pytest.mark.slow

KINDS = {"f32": ("float", np.float32), "f64": ("double", np.float64)}
ALLOWED = {
    "sin": 4, "cos": 4, "tan": 5, "exp": 3, "exp2": 3, "log": 3, "log2": 3, "sqrt": 0.5001,
    "cbrt": 2, "asin": 4, "atan": 5, "sinh": 4, "tanh": 5, "rsqrt": 2, "expm1": 3, "log1p": 2,
    "pow": 16, "atan2": 6, "hypot": 4, "fmod": 0, "div": 0.5001, "fmax": 0, "copysign": 0,
}  # fmt: skip
"""By function: units in the last place."""
TWO = {
    "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "div": np.divide,
    "fmax": np.fmax, "copysign": np.copysign,
}  # fmt: skip
ONE: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin, "atan": np.arctan,
}  # fmt: skip
LIBRARIES = {
    "flushed": ["oclc_daz_opt_on"],
    "kept": ["oclc_daz_opt_off"],
}
COMMON = [
    "ocml", "oclc_correctly_rounded_sqrt_on", "oclc_finite_only_off", "oclc_isa_version_803",
    "oclc_unsafe_math_off", "oclc_wavefrontsize64_on",
]  # fmt: skip


def _folder() -> Path | None:
    given = os.environ.get("DEVICE_LIBRARY")
    if given:
        return Path(given)
    clang = find_compiler()
    roots = [Path(clang).resolve().parents[1], Path(clang).parents[1]] if clang else []
    found = (path for root in roots for path in sorted(root.glob("lib/**/amdgcn/bitcode/ocml.bc")))
    return next((path.parent for path in found), None)


def _source() -> str:
    lines = ["#pragma OPENCL EXTENSION cl_khr_fp64 : enable"]
    for kind, (type, _) in KINDS.items():
        for name in ALLOWED:
            call = f"__ocml_{name}_{kind}(a[i]{', b[i]' if name in TWO else ''})"
            if name == "div":
                call = "a[i] / b[i]"
            else:
                parameters = ", ".join([type] * (1 + (name in TWO)))
                lines.append(f"{type} __ocml_{name}_{kind}({parameters});")
            lines.append(
                f"kernel void {name}_{kind}(global {type} *r, global {type} *a, global {type} *b) "
                f"{{ uint i = __builtin_amdgcn_workgroup_id_x() * 64 "
                f"+ __builtin_amdgcn_workitem_id_x(); r[i] = {call}; }}"
            )
    return "\n".join(lines)


@pytest.fixture(scope="module", params=LIBRARIES)
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = _folder()
    if folder is None:
        pytest.skip("no clang with a device library: set DEVICE_LIBRARY to the folder of ocml.bc")
    source = tmp_path_factory.mktemp("library") / "functions.cl"
    source.write_text(_source())
    options = ["-O2", "-cl-fp32-correctly-rounded-divide-sqrt"]
    if request.param == "kept":
        options += ["-Xclang", "-fdenormal-fp-math-f32=ieee"]
    for library in [*COMMON, *LIBRARIES[request.param]]:
        options += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(folder / f"{library}.bc")]
    try:
        code = compile_kernels(source, options=options)
    except CompileError as error:
        pytest.skip(f"this clang cannot use this device library: {str(error)[:300]}")
    return CodeObject.from_bytes(code, "functions.co")


def _values(dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    special = [0.0, -0.0, 1, -1, 0.5, np.inf, -np.inf, np.nan, 1e-3, 100, -7.25, 1e30, -1e30]
    wide = 10.0 ** rng.uniform(-30, 30, 80) * rng.choice([-1, 1], 80)
    parts = [special, rng.uniform(-5, 5, 83), wide, rng.uniform(-1, 1, 80)]
    values = np.concatenate(parts).astype(dtype)
    assert len(values) == 256
    return values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ALLOWED)
def test_function(name: str, kind: str, kernels: CodeObject) -> None:
    dtype = KINDS[kind][1]
    a, b = _values(dtype, 1), np.roll(_values(dtype, 2), 37)
    device = Device(functional=True, cus=1)
    result, *buffers = (device.alloc(values) for values in (np.zeros_like(a), a, b))
    queue, done = device.create_queue(), device.signal(1)
    queue.dispatch(
        kernels.kernels[f"{name}_{kind}"], (256,), (64,), [result, *buffers], completion=done
    )
    queue.ring()
    device.run(until=done)
    got = result.numpy()
    wider = np.longdouble if kind == "f64" else np.float64
    with np.errstate(all="ignore"):
        if name in TWO:
            exact = TWO[name](a.astype(wider), b.astype(wider))
        else:
            exact = (ONE.get(name) or getattr(np, name))(a.astype(wider))
        wanted = exact.astype(dtype)
        error = np.abs(got.astype(wider) - exact) / np.abs(np.spacing(wanted)).astype(wider)
        tiny = (np.abs(wanted) < 2.0**-125) & (np.abs(got) < 2.0**-125) & (kind == "f32")
        close = np.where(np.isfinite(wanted), tiny | (error <= ALLOWED[name]), got == wanted)
    wrong = np.flatnonzero(~(close | (np.isnan(got) & np.isnan(wanted))))
    assert [(a[i], b[i], got[i], wanted[i]) for i in wrong] == []
