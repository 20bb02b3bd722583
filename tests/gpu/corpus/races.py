"""Locks, barriers of a whole grid, rings, litmus tests: kernels whose groups meet in memory.

What a litmus kernel may end with is GPU memory model, not the order in which a run happens to be:
each has the set of its allowed outcomes. Source: LLVM "User Guide for AMDGPU Backend", "Memory
Model gfx6-gfx9"; the names are those of the litmus literature.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from tests.gpu.corpus.case import Buffers, Case, Check, one

I32 = np.int32
ZERO = np.zeros(1, I32)
Outcome = tuple[int, ...]

NEVER: dict[str, set[Outcome]] = {
    # Flag seen, data not: only without synchronisation, or with one of too small a scope.
    **{f"mp_{name}": {(1, 0)} for name in ("ra_dev", "ra_sys", "sc_dev")},
    **{f"mpf_{name}": {(1, 0)} for name in ("dev", "sys")},
    **{name: set() for name in ("mp_rlx_dev", "mp_ra_wg", "mpf_wg")},
    "sb_rlx": set(),
    "sb_sc": {(0, 0)},
    "lb_rlx": set(),
    "lb_ra": {(1, 1)},
    "iriw_rlx": set(),
    "iriw_sc": {(1, 0, 1, 0)},
    "corr": {(1, 0)},
    "corr_plain": {(1, 0)},
    "wrc": {(1, 1, 0)},
    "isa2_barrier": {(1, 0)},
    # Two scopes in one chain: happens-before goes through both (HSA), so the data are seen.
    "isa2_mixed": {(1, 0)},
    "isa2_gwg": {(1, 0)},
    # One group, its flag in LDS: OpenCL orders local and global memory apart, so all are allowed.
    "mp_lds": set(),
}
"""Outcomes that no run may end with, by kernel."""

GROUPS = {"iriw_rlx": 4, "iriw_sc": 4, "wrc": 3, "mp_lds": 1}
"""Threads of a test, one a group; 2 by default."""
RESULTS = {"iriw_rlx": 4, "iriw_sc": 4, "wrc": 3}


def _allowed(name: str) -> Check:
    count = RESULTS.get(name, 2)
    allowed = set(itertools.product((0, 1), repeat=count)) - NEVER[name]

    def check(buffers: Buffers) -> str | None:
        outcome = tuple(int(each) for each in buffers["r"])
        return None if outcome in allowed else f"ended with {outcome}, which is forbidden"

    return check


def _litmus(name: str, shared: Iterable[str], source: str = "litmus", group: int = 64) -> Case:
    names = (*shared, "r")
    buffers = dict.fromkeys(shared, ZERO)
    return one(source, name, GROUPS.get(name, 2) * group, group, names, check=_allowed(name),
               **buffers, r=np.zeros(RESULTS.get(name, 2), I32))  # fmt: skip


def _litmus_tests() -> list[Case]:
    flagged = [f"mp_{n}" for n in ("rlx_dev", "ra_wg", "ra_dev", "ra_sys", "sc_dev")]
    flagged += [f"mpf_{n}" for n in ("wg", "dev", "sys")]
    pairs = ("sb_rlx", "sb_sc", "lb_rlx", "lb_ra", "iriw_rlx", "iriw_sc")
    return [
        *(_litmus(name, ("x", "f")) for name in flagged),
        *(_litmus(name, ("x", "y")) for name in pairs),
        _litmus("corr", ("x",)),
        _litmus("corr_plain", ("x",)),
        _litmus("wrc", ("x", "f", "g")),
        _litmus("mp_lds", ("x",), group=128),
        _litmus("isa2_mixed", ("x", "f"), "cumul", 128),
        _litmus("isa2_barrier", ("x", "f"), "cumul", 128),
        _litmus("isa2_gwg", ("x", "g", "f"), "cumul", 128),
    ]


def _counters() -> list[Case]:
    """Read-modify-writes of every order and scope: each adds once, whatever its scope."""
    orders = ("rlx", "acq", "rel", "ar", "sc")
    names = [f"{order}_{scope}" for order in orders for scope in ("wg", "dev")]
    names += ["sc_sys", "sc_sg"]

    def distinct(buffers: Buffers) -> str | None:
        seen = sorted(buffers["r"].tolist())
        return None if seen == list(range(100)) else "an old value is lost or there twice"

    return [
        one("litmus", f"rmw_{name}", 100, 64, ("x", "r"), {"x": np.array([100], I32)},
            check=distinct, x=ZERO, r=np.zeros(100, I32))
        for name in names
    ]  # fmt: skip


def _locks() -> list[Case]:
    groups, rounds, n = 3, 2, 12
    u32 = np.uint32

    def met(buffers: Buffers) -> str | None:
        """Each reads what its neighbour wrote before the barrier; a fast neighbour may already
        have written for the next one."""
        for g in range(groups):
            for r in range(1, rounds + 1):
                turn, neighbour = divmod(int(buffers["out"][g * rounds + r - 1]), 1000)
                if neighbour != (g + 1) % groups or turn not in (r, min(r + 1, rounds)):
                    return f"group {g} read {turn * 1000 + neighbour} in round {r}"
        return None

    return [
        one("lock", "spinlock", groups * 64, 64, ("lk", "cnt", 2),
            {"cnt": np.array([groups * 2], I32), "lk": ZERO}, lk=ZERO, cnt=ZERO),
        one("lock", "ticketlock", groups * 64, 64, ("l", "cnt"),
            {"cnt": np.array([groups], I32), "l": np.array([groups, groups], u32)},
            l=np.zeros(2, u32), cnt=ZERO),
        one("lock", "gridbarrier", groups * 64, 64, ("b", "data", "out", rounds),
            check=met, b=np.zeros(1, u32), data=np.zeros(groups, I32),
            out=np.zeros(groups * rounds, I32)),
        one("lock", "prodcons", 128, 64, ("q", "buf", "out", n, 4),
            {"out": np.arange(n, dtype=I32) * 3 + 1}, q=np.zeros(2, u32), buf=np.zeros(4, I32),
            out=np.zeros(n, I32)),
    ]  # fmt: skip


CASES = [*_litmus_tests(), *_counters(), *_locks()]
