"""What clang emits for the atomic operations of OpenCL, as steps of code sequences."""

from __future__ import annotations

import re
import subprocess
from itertools import product
from pathlib import Path

from gpu.litmus.sequences import ACCESS, LDS_AND_SCALAR, VECTOR, WAIT, Kind, Sequence, Step
from gpu.memory_model.program import Order, Space
from gpu.memory_model.scopes import Scope

Key = tuple[Kind, Order, Scope, frozenset[Space], bool]
"""Kind, order, scope, address spaces, whether the old value is used."""

GLOBAL, LOCAL = frozenset({Space.global_}), frozenset({Space.local})
SPACES = {GLOBAL: "__global", LOCAL: "__local", GLOBAL | LOCAL: ""}
ORDERS = {
    Kind.load: (Order.relaxed, Order.acquire, Order.seq_cst),
    Kind.store: (Order.relaxed, Order.release, Order.seq_cst),
    Kind.rmw: (Order.relaxed, Order.acquire, Order.release, Order.acq_rel, Order.seq_cst),
    Kind.fence: (Order.acquire, Order.release, Order.acq_rel, Order.seq_cst),
}
SCOPES = {
    Scope.wavefront: ("SUB_GROUP", "wavefront-"),
    Scope.work_group: ("WORK_GROUP", "workgroup-"),
    Scope.agent: ("DEVICE", "agent-"),
    Scope.system: ("ALL_SVM_DEVICES", ""),
}
_ARGUMENTS = "global int *a, local int *b, global int *c, local int *d"


def keys() -> list[Key]:
    """All combinations that the language has. Fences of OpenCL have the column of one space."""
    made: list[Key] = []
    for kind in (Kind.load, Kind.store, Kind.rmw):
        for order, scope, spaces in product(ORDERS[kind], SCOPES, SPACES):
            made += [(kind, order, scope, spaces, used) for used in {False, kind is Kind.rmw}]
    return made + [
        (Kind.fence, order, scope, GLOBAL, False)
        for order, scope in product(ORDERS[Kind.fence], SCOPES)
    ]


def source() -> str:
    """A function for each, with a store to both address spaces before it and behind it."""
    return "\n".join(_function(number, key) for number, key in enumerate(keys()))


def _function(number: int, key: Key) -> str:
    kind, order, scope, spaces, used = key
    opencl, ir = SCOPES[scope]
    ends = f"__ATOMIC_{order.upper()}, __OPENCL_MEMORY_SCOPE_{opencl})"
    body = {
        Kind.load: f"__opencl_atomic_load(p, {ends}",
        Kind.store: f"__opencl_atomic_store(p, 7, {ends}",
        Kind.rmw: f"__opencl_atomic_fetch_add(p, 7, {ends}",
        Kind.fence: f'__builtin_amdgcn_fence(__ATOMIC_{order.upper()}, "{ir}one-as")',
    }[kind]
    result, end = ("int", "return r;") if used else ("void", "")
    return (
        f"{result} f{number}({_ARGUMENTS}, {SPACES[spaces]} atomic_int *p) {{ *a = 1; *b = 2; "
        f"{'int r = ' * used}{body}; *c = 3; *d = 4; {end} }}"
    )


def emitted(clang: str, processor: str, folder: Path, hsa: bool) -> list[Sequence]:
    """The steps of each function. ``hsa``: the same operations with one order for both address
    spaces, which OpenCL cannot say and LLVM's intermediate language can."""
    text = folder / "atomics.cl"
    text.write_text(source())
    common = [clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", "-O1"]
    common += ["-w", "-S", "-o", "-"]
    opencl = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", str(text)]
    if not hsa:
        return _functions(_run([*common, *opencl]))
    ir = _run([*common, "-emit-llvm", *opencl])
    ir = ir.replace("-one-as", "").replace('syncscope("one-as") ', "")
    (folder / "atomics.ll").write_text(ir)
    return _functions(_run([*common, str(folder / "atomics.ll")]))


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def _functions(assembly: str) -> list[Sequence]:
    bodies = re.findall(r"^f\d+:(.*?)s_setpc_b64", assembly, re.S | re.M)
    return [_between_stores([step for line in body.splitlines() if (step := _step(line))])
            for body in bodies]  # fmt: skip


def _step(line: str) -> Step | None:
    words = line.split(";")[0].split()
    if not words:
        return None
    if re.match(r"(flat|global|ds)_", words[0]):
        return Step(ACCESS, tuple(w for w in words if w in ("glc", "slc", "sc0", "sc1", "nt")))
    if words[0] == WAIT:
        return Step(WAIT, tuple(c for c in (VECTOR, LDS_AND_SCALAR) if f"{c}(0)" in words))
    if words[0].startswith("buffer_"):
        return Step(words[0], tuple(words[1:]))
    return None


def _between_stores(steps: list[Step]) -> Sequence:
    accesses = [number for number, step in enumerate(steps) if step.name == ACCESS]
    return tuple(steps[accesses[1] + 1 : accesses[-2]])
