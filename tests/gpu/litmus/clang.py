"""What clang emits for the atomic operations of OpenCL, as steps of code sequences."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from gpu.litmus.sequences import ACCESS, LDS_AND_SCALAR, VECTOR, WAIT, Kind, Sequence, Step
from gpu.memory_model.program import BOTH_SPACES, Order, Space
from gpu.memory_model.scopes import Scope


class Key(NamedTuple):
    """An operation, and whether its old value is used."""

    kind: Kind
    order: Order
    scope: Scope
    spaces: frozenset[Space]
    used: bool = False
    operation: str = ""


GLOBAL, LOCAL = frozenset({Space.global_}), frozenset({Space.local})
SPACES = {GLOBAL: "__global", LOCAL: "__local", BOTH_SPACES: ""}
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
OPERATIONS = {
    "load": "__opencl_atomic_load(p, {})",
    "store": "__opencl_atomic_store(p, 7, {})",
    "fetch_add": "__opencl_atomic_fetch_add(p, 7, {})",
    "exchange": "__opencl_atomic_exchange(p, 7, {})",
    "compare_exchange": "__opencl_atomic_compare_exchange_strong(p, &old, 7, {})",
}
_USES = {"fetch_add": (False, True), "exchange": (True,), "compare_exchange": (False, True)}
_ARGUMENTS = "global int *a, local int *b, global int *c, local int *d"
_ONE_ORDER = (("-one-as", ""), ('syncscope("one-as") ', ""))
_WORK_ITEM = (('"wavefront', '"singlethread'),)


@dataclass(frozen=True)
class Form:
    """How operations are said. ``hsa``: one order holds for both address spaces; ``edits`` of
    LLVM's intermediate language: what OpenCL cannot say, and it can."""

    hsa: bool
    edits: tuple[tuple[str, str], ...] = ()
    scopes: tuple[Scope, ...] = tuple(SCOPES)
    tagged: bool = False
    """Only fences: those whose address spaces are named, since clang 19."""

    def operations(self) -> list[Key]:
        """All combinations that the form has. Fences of OpenCL have the column of one space."""
        if self.tagged:
            orders = product(ORDERS[Kind.fence], self.scopes, SPACES)
            return [Key(Kind.fence, *each) for each in orders]
        made: list[Key] = []
        for operation in OPERATIONS:
            kind = Kind(operation) if operation in set(Kind) else Kind.rmw
            for each in product(ORDERS[kind], self.scopes, SPACES):
                made += [
                    Key(kind, *each, used, operation) for used in _USES.get(operation, (False,))
                ]
        fenced = BOTH_SPACES if self.hsa else GLOBAL
        for order, scope in product(ORDERS[Kind.fence], self.scopes):
            made.append(Key(Kind.fence, order, scope, fenced))
        for kind, scope, spaces in product((Kind.load, Kind.store), self.scopes, SPACES):
            made.append(Key(kind, Order.non_atomic, scope, spaces))
        return made


FORMS = {
    "opencl": Form(hsa=False),
    "hsa": Form(True, _ONE_ORDER),
    "opencl-work-item": Form(False, _WORK_ITEM, (Scope.work_item,)),
    "hsa-work-item": Form(True, (*_ONE_ORDER, *_WORK_ITEM), (Scope.work_item,)),
    "tagged-fences": Form(hsa=True, tagged=True),
}


def source(form: Form) -> str:
    """A function for each key, with a store to both address spaces before it and behind it; but
    an access that is not atomic, which a compiler may move, stands alone."""
    keys = enumerate(form.operations())
    return "\n".join(_function(number, key, form.tagged) for number, key in keys)


def _function(number: int, key: Key, tagged: bool) -> str:
    kind, order, scope, spaces, used, operation = key
    head = f"f{number}({_ARGUMENTS}, {SPACES[spaces]} atomic_int *p)"
    if order is Order.non_atomic:
        plain = f"({SPACES[spaces]} int *)p"
        return (
            f"int {head} {{ return *{plain}; }}"
            if kind is Kind.load
            else f"void {head} {{ *{plain} = 7; }}"
        )
    opencl, ir = SCOPES.get(scope, SCOPES[Scope.wavefront])
    if kind is Kind.fence:
        names = [f'"{ir}one-as"']
        if tagged:
            names = [f'"{ir.rstrip("-")}"', *sorted(f'"{_TAGS[space]}"' for space in spaces)]
        body = f"__builtin_amdgcn_fence(__ATOMIC_{order.upper()}, {', '.join(names)})"
    else:
        words = [f"__ATOMIC_{order.upper()}"]
        words += ["__ATOMIC_RELAXED"] if operation == "compare_exchange" else []
        ends = ", ".join((*words, f"__OPENCL_MEMORY_SCOPE_{opencl}"))
        body = OPERATIONS[operation].format(ends)
    old = "int old = 5; " if operation == "compare_exchange" else ""
    result, end = ("int", "return r;") if used else ("void", "")
    return (
        f"{result} {head} {{ {old}*a = 1; *b = 2; "
        f"{'int r = ' * used}{body}; *c = 3; *d = 4; {end} }}"
    )


_TAGS = {Space.global_: "global", Space.local: "local"}


def emitted(clang: str, processor: str, folder: Path, form: Form) -> list[Sequence]:
    """The steps of each key's function."""
    text = folder / "atomics.cl"
    text.write_text(source(form))
    common = [clang, "-target", "amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", "-O1"]
    common += ["-w", "-S", "-o", "-"]
    opencl = ["-x", "cl", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header", str(text)]
    if not form.edits:
        return _functions(_run([*common, *opencl]), form)
    ir = _run([*common, "-emit-llvm", *opencl])
    for old, new in form.edits:
        ir = ir.replace(old, new)
    (folder / "atomics.ll").write_text(ir)
    return _functions(_run([*common, str(folder / "atomics.ll")]), form)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


def _functions(assembly: str, form: Form) -> list[Sequence]:
    keys = form.operations()
    bodies = re.findall(r"^f\d+:(.*?)s_setpc_b64", assembly, re.S | re.M)
    assert len(bodies) == len(keys)
    found = []
    for key, body in zip(keys, bodies):
        steps = [step for line in body.splitlines() if (step := _step(line))]
        if key.order is Order.non_atomic:
            found.append(tuple(step for step in steps if step.name != WAIT))
        else:
            found.append(_between_stores(steps))
    return found


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
