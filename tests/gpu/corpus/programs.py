"""Scans, sums, sorts, sparse matrices, graphs, control flow, numeric programs, copies."""

from __future__ import annotations

import math
import zlib

import numpy as np

from gpu.code_object import LocalBytes
from tests.gpu.corpus.basic import F32, floats, ints, rng
from tests.gpu.corpus.case import Array, Buffers, Case, Launch, difference, one

U32, I32 = np.uint32, np.int32


def _scans() -> list[Case]:
    n = 700
    data = rng(30).integers(0, 1 << 32, n, dtype=np.uint64).astype(U32)
    whole = (np.cumsum(data, dtype=np.uint64) - data).astype(U32)
    padded = np.zeros(768, U32)
    padded[:n] = data
    in_groups = np.cumsum(padded.reshape(3, 256), axis=1, dtype=np.uint64)
    sums = in_groups[:, -1].astype(U32)
    totals = np.zeros(256, U32)
    first = Launch("scan_groups", (768,), (256,), ("in", "out", "totals", n))
    second = Launch("scan_groups", (256,), (256,), ("totals", "offsets", "one", 3))
    third = Launch("add_totals", (768,), (256,), ("out", "offsets", n))
    buffers = {"in": data, "out": np.zeros(n, U32), "totals": totals, "offsets": totals,
               "one": np.zeros(1, U32)}  # fmt: skip
    two = rng(31).integers(0, 1000, 512).astype(U32)
    exclusive = (np.cumsum(two.reshape(2, 256), axis=1, dtype=np.uint64)).astype(U32)
    return [
        Case("scan.whole", "scan", buffers, (first, second, third), {"out": whole},
             check=lambda b: difference(b["totals"][:3], sums)),
        one("scan", "scan_tree", 256, 128, ("in", "out"),
            {"out": exclusive - two.reshape(2, 256)}, **{"in": two, "out": 0 * two}),
    ]  # fmt: skip


def _sums() -> list[Case]:
    size, n = 24, 150
    data = rng(32).integers(0, 256, size * n).astype(np.uint8)
    right = [zlib.crc32(data[i * size : (i + 1) * size].tobytes()) for i in range(n)]
    call = ("data", "out", size, n)
    return [
        one("crc", kernel, grid, group, call, {"out": np.array(right, U32)}, data=data,
            out=np.zeros(n, U32))
        for kernel, grid, group in (("crc_bits", 192, 64), ("crc_table", 256, 256))
    ]  # fmt: skip


def _sorts() -> list[Case]:
    data = ints(33, 512)
    steps = [(k, j) for k in (2, 4, 8, 16, 32, 64, 128) for j in _halves(k // 2)]
    small = ints(34, 128)
    launches = tuple(Launch("bitonic_step", (64,), (64,), ("data", k, j)) for k, j in steps)
    wide = rng(35).integers(0, 1 << 62, 60).astype(np.uint64)

    def sorted_groups(buffers: Buffers) -> str | None:
        """Groups end in directions that alternate with the bit of their position."""
        groups = np.sort(data.reshape(2, 256), axis=1)
        return difference(buffers["data"], groups)

    return [
        one("sort", "bitonic_local", 256, 128, ("data",), check=sorted_groups, data=data),
        Case("sort.bitonic_step", "sort", {"data": small}, launches, {"data": np.sort(small)}),
        one("sort", "odd_even", 64, 64, ("data", 60), {"data": np.sort(wide)}, data=wide),
    ]


def _halves(value: int) -> list[int]:
    found = []
    while value:
        found.append(value)
        value //= 2
    return found


def _graph(seed: int, n: int, most: int) -> tuple[Array, Array]:
    """Row starts and columns of a random square matrix; some rows are empty."""
    prng = rng(seed)
    counts = prng.integers(0, most, n)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(U32)
    return start, prng.integers(0, n, int(start[-1])).astype(U32)


def _sparse() -> list[Case]:
    start, column = _graph(36, 90, 12)
    value, x = floats(37, len(column)), floats(38, 90)
    product = np.zeros(90, F32)
    for row in range(90):
        for k in range(start[row], start[row + 1]):
            product[row] += value[k] * x[column[k]]
    long_start, long_column = _graph(39, 5, 200)
    long_value, long_x = floats(40, len(long_column)), floats(41, 5)
    rows = []
    for row in range(5):
        parts = np.zeros(64, F32)
        for k in range(long_start[row], long_start[row + 1]):
            parts[(k - long_start[row]) % 64] += long_value[k] * long_x[long_column[k]]
        width = 64
        while width > 1:
            width //= 2
            parts = parts[:width] + parts[width:]
        rows.append(parts[0])
    return [
        one("sparse", "spmv_row", 128, 64, ("start", "column", "value", "x", "y", 90),
            {"y": product}, start=start, column=column, value=value, x=x, y=np.zeros(90, F32)),
        one("sparse", "spmv_wave", 320, 64, ("start", "column", "value", "x", "y"),
            {"y": np.array(rows, F32)}, start=long_start, column=long_column, value=long_value,
            x=long_x, y=np.zeros(5, F32)),
        *_searches(),
    ]  # fmt: skip


def _searches() -> list[Case]:
    n = 80
    start, edge = _graph(42, n, 5)
    root = int(np.argmax(np.diff(start)))
    level = np.full(n, -1, I32)
    level[root] = 0
    initial = level.copy()
    frontiers = [[root]]
    while frontiers[-1]:
        found = {
            int(edge[k]) for v in frontiers[-1] for k in range(start[v], start[v + 1])
            if level[edge[k]] < 0
        }  # fmt: skip
        level[list(found)] = len(frontiers)
        frontiers.append(sorted(found))
    depth = len(frontiers) - 1
    assert depth > 3
    by_level = tuple(
        Launch("bfs_level", (128,), (64,), ("start", "edge", "level", "again", now, n))
        for now in range(depth)
    )
    by_queue = tuple(
        Launch("bfs_queue", (64,), (64,),
               ("start", "edge", "level", f"queue{now}", len(frontiers[now]), f"queue{now + 1}",
                f"tail{now}", now))
        for now in range(depth)
    )  # fmt: skip
    buffers = {"start": start, "edge": edge, "level": initial}
    queues = {f"queue{now}": np.full(n, root, U32) for now in range(depth + 1)}
    tails = {f"tail{now}": np.zeros(1, U32) for now in range(depth)}

    def queued(found: Buffers) -> str | None:
        for now in range(1, depth):
            members = sorted(found[f"queue{now}"][: len(frontiers[now])].tolist())
            if members != frontiers[now]:
                return f"level {now} holds {members} instead of {frontiers[now]}"
        return None

    return [
        Case("sparse.bfs_level", "sparse", {**buffers, "again": np.zeros(1, I32)}, by_level,
             {"level": level, "again": np.ones(1, I32)}),
        Case("sparse.bfs_queue", "sparse", {**buffers, **queues, **tails}, by_queue,
             {"level": level}, check=queued),
    ]  # fmt: skip


# ------------------------------------------------------------------ control flow


def _signed(value: int) -> int:
    return (value + (1 << 31) & 0xFFFF_FFFF) - (1 << 31)


def _chain(x: int) -> int:
    if x < 10:
        return x * 3
    if x < 20:
        return x - 100 if x & 1 else x + 1000 if x & 2 else -x
    return x * x if x < 40 else ~x


def _collatz(x: int) -> int:
    steps = 0
    while x > 1:
        x = 3 * x + 1 if x & 1 else x // 2
        steps += 1
    return steps


def _interpreted(program: Array, i: int) -> int:
    a, b = i, 1
    for at, code in enumerate(program.tolist()):
        operation = (code + i) % 7
        if operation == 0:
            a += b
        elif operation in (1, 2):
            if operation == 1:
                a ^= _signed(b << 3)
            b += a & 15
        elif operation == 3:
            if a & 1:
                continue
            a >>= 1
        elif operation == 4:
            b = -b
        elif operation == 5:
            b += sum(range(a & 3))
        else:
            a -= 7
        a, b = _signed(a + at), _signed(b)
    return _signed(a * 31 + b)


def _early(x: int) -> int:
    if x < 0:
        return -1
    for k in range(20):
        if x == 1:
            return 1000 + k
        if x % 3 == 0:
            return -k
        x = x * 5 + 1 & 0xFFF
    return x


def _nested(x: int) -> int:
    total = found = 0
    for a in range(1, 12):
        if found:
            break
        for b in range(a, 12):
            if a * b == x & 63:
                found = a * 100 + b
                break
            total += a ^ b
    while True:
        total += x & 3
        x >>= 1
        if x <= 0:
            return found * 10000 + total


def _mandelbrot(w: int, h: int, most: int) -> Array:
    counts = np.zeros((h, w), U32)
    for py in range(h):
        for px in range(w):
            cx, cy = F32(px) * F32(0.0625) - F32(2), F32(py) * F32(0.0625) - F32(1)
            x = y = F32(0)
            n = 0
            while n < most and x * x + y * y < F32(4):
                x, y = x * x - y * y + cx, F32(2) * x * y + cy
                n += 1
            counts[py, px] = n
    return counts


def _control_flow() -> list[Case]:
    x = ints(43, 130, -20, 60)
    zeros = np.zeros(130, I32)
    starts = rng(44).integers(0, 200, 100).astype(U32)
    code = rng(45).integers(0, 256, 25).astype(np.uint8)
    a, b = (rng(seed).integers(0, 5000, 100).astype(U32) for seed in (46, 47))
    early = ints(48, 100, -5, 4000)
    some = ints(49, 130, 0, 1 << 20)
    w, h, most = 20, 12, 18

    def mapped(function: object, values: Array, dtype: type[np.generic]) -> Array:
        assert callable(function)
        return np.array([function(int(each)) for each in values], dtype)

    out = np.concatenate([mapped(_early, early, I32), np.full(28, -1, I32)])
    return [
        one("diverge", "if_chain", 130, 64, ("in", "out"), {"out": mapped(_chain, x, I32)},
            **{"in": x, "out": zeros}),
        one("diverge", "collatz", 128, 64, ("in", "out", 100),
            {"out": mapped(_collatz, starts, U32)}, **{"in": starts, "out": 0 * starts}),
        one("diverge", "switch_loop", 64, 64, ("program", "out", 25),
            {"out": np.array([_interpreted(code, i) for i in range(64)], I32)}, program=code,
            out=np.zeros(64, I32)),
        one("diverge", "gcd", 100, 64, ("a", "b", "out"), {"out": np.gcd(a, b)}, a=a, b=b,
            out=0 * a),
        one("diverge", "mandelbrot", (24, 12), (8, 8), ("out", w, h, most),
            {"out": _mandelbrot(w, h, most)}, out=np.zeros((h, w), U32)),
        one("diverge", "early_return", 128, 64, ("in", "out", 100), {"out": out},
            **{"in": early, "out": np.zeros(128, I32)}),
        one("diverge", "nested", 130, 64, ("in", "out"), {"out": mapped(_nested, some, I32)},
            **{"in": some, "out": zeros}),
    ]  # fmt: skip


# ------------------------------------------------------------------ numeric programs


def _bodies() -> Case:
    body = floats(50, 40, 4)
    body[:, 3] = np.abs(body[:, 3])
    wide = body.astype(np.float64)
    d = wide[None, :, :3] - wide[:, None, :3]
    r2 = (d**2).sum(2) + 0.01
    force = np.zeros((40, 4))
    force[:, :3] = (d * (wide[:, 3] / (r2 * np.sqrt(r2)))[..., None]).sum(1)
    return one("numeric", "nbody", 64, 64, ("body", "force", 40), {"force": force.astype(F32)},
               body=body, force=np.zeros((40, 4), F32), tolerance=1e-4, slack=1e-4)  # fmt: skip


def _images() -> list[Case]:
    w, h = 30, 17
    image = floats(51, h, w)
    smooth = image.copy()
    smooth[1:-1, 1:-1] = F32(0.5) * image[1:-1, 1:-1] + F32(0.125) * (
        ((image[1:-1, :-2] + image[1:-1, 2:]) + image[:-2, 1:-1]) + image[2:, 1:-1]
    )
    grey = rng(52).integers(0, 256, (h, w)).astype(np.uint8)
    around = np.pad(grey.astype(int), 1, mode="edge")
    gx = sum(around[dy : dy + h, 2 : 2 + w] * s - around[dy : dy + h, :w] * s
             for dy, s in enumerate((1, 2, 1)))  # fmt: skip
    gy = sum(around[2 : 2 + h, dx : dx + w] * s - around[:h, dx : dx + w] * s
             for dx, s in enumerate((1, 2, 1)))  # fmt: skip
    edges = np.minimum(np.abs(gx) + np.abs(gy), 255).astype(np.uint8)
    return [
        one("numeric", "stencil", (32, 24), (16, 8), ("in", "out", w, h), {"out": smooth},
            **{"in": image, "out": 0 * image}),
        one("numeric", "sobel", (32, 24), (8, 8), ("in", "out", w, h), {"out": edges},
            **{"in": grey, "out": 0 * grey}),
    ]  # fmt: skip


def _generators() -> Case:
    state = rng(53).integers(1, 1 << 63, 64).astype(np.uint64)
    s, total = state.copy(), np.zeros(64, U32)
    for _ in range(7):
        for shift in (13, -7, 17):
            s ^= s << np.uint64(shift) if shift > 0 else s >> np.uint64(-shift)
        total += (s * np.uint64(0x2545F4914F6CDD1D) >> np.uint64(32)).astype(U32)
    return one("numeric", "xorshift", 64, 64, ("state", "out", 7), {"state": s, "out": total},
               state=state, out=np.zeros(64, U32))  # fmt: skip


def _clusters() -> Case:
    point, centre = floats(54, 100, 2), floats(55, 4, 2)
    d = ((point[:, None, :] - centre[None]) ** 2).astype(F32)
    nearest = np.argmin(d[..., 0] + d[..., 1], axis=1)
    fixed = (point * F32(256)).astype(I32)
    sums = np.array([fixed[nearest == c].sum(0) for c in range(4)], I32)
    counts = np.bincount(nearest, minlength=4).astype(I32)
    return one("numeric", "kmeans", 128, 64,
               ("point", "centre", 4, "nearest", "count", "sum", 100),
               {"nearest": nearest.astype(U32), "count": counts, "sum": sums}, point=point,
               centre=centre, nearest=np.zeros(100, U32), count=np.zeros(4, I32),
               sum=np.zeros((4, 2), I32))  # fmt: skip


def _transforms() -> list[Case]:
    data = floats(56, 128)
    walsh = data.copy()
    for step in (1, 2, 4, 8, 16, 32, 64):
        pairs = walsh.reshape(-1, 2, step)
        walsh = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(-1)
    launches = tuple(
        Launch("walsh_step", (64,), (64,), ("data", step)) for step in (1, 2, 4, 8, 16, 32, 64)
    )
    n = 12
    distance = rng(57).integers(1, 1000, (n, n)).astype(U32)
    shortest = distance.copy()
    for k in range(n):
        shortest = np.minimum(shortest, shortest[:, k : k + 1] + shortest[k : k + 1])
    rounds = tuple(Launch("floyd_step", (16, 16), (8, 8), ("distance", n, k)) for k in range(n))
    return [
        Case("numeric.walsh_step", "numeric", {"data": data}, launches, {"data": walsh}),
        Case("numeric.floyd_step", "numeric", {"distance": distance}, rounds,
             {"distance": shortest}),
    ]  # fmt: skip


def _filters() -> list[Case]:
    n, count = 150, 9
    data, taps = floats(58, n), floats(59, count)
    filtered = np.zeros(n, F32)
    for k in range(count):
        filtered[k:] += taps[k] * data[: n - k]
    x, coefficient = floats(60, 100).astype(np.float64), floats(61, 6).astype(np.float64)
    value = np.zeros(100)
    for each in coefficient:
        value = value * x + each
    a, b = floats(62, 200).astype(np.float64), floats(63, 200).astype(np.float64)
    products = np.zeros(256)
    products[:200] = a * b
    tree = products.reshape(2, 128)
    while tree.shape[1] > 1:
        tree = tree[:, : tree.shape[1] // 2] + tree[:, tree.shape[1] // 2 :]
    return [
        one("numeric", "fir", 192, 64, ("in", "taps", "out", count, n), {"out": filtered},
            **{"in": data, "taps": taps, "out": 0 * data}),
        one("numeric", "relu", 64, 64, ("in", "out", n), {"out": np.maximum(data, F32(0))},
            **{"in": data, "out": 0 * data}),
        one("numeric", "horner", 100, 64, ("x", "c", 6, "out"), {"out": value}, x=x,
            c=coefficient, out=0 * x),
        one("numeric", "dot_groups", 256, 128, ("a", "b", "out", LocalBytes(1024), 200),
            {"out": tree[:, 0]}, a=a, b=b, out=np.zeros(2)),
    ]  # fmt: skip


# ------------------------------------------------------------------ copies and places


def _copies() -> list[Case]:
    cases = []
    for name, width in (("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8), ("u32x3", 16),
                        ("u32x4", 16), ("u8x4", 4), ("u64x2", 16)):  # fmt: skip
        data = rng(64).integers(0, 256, (90, width)).astype(np.uint8)
        right = np.zeros((96, width), np.uint8)
        right[:90] = data
        if name == "u32x3":
            right[:, 12:] = 0
        cases.append(
            one("copies", f"copy_{name}", 128, 64, ("in", "out", 90),
                check=_prefix(right, 12 if name == "u32x3" else width),
                **{"in": data, "out": np.zeros((96, width), np.uint8)})
        )  # fmt: skip
    crooked = rng(65).integers(0, 256, (70, 7)).astype(np.uint8)
    changed = crooked.copy()
    words = changed[:, 1:5].copy().view(U32)[:, 0] + changed[:, 0]
    changed[:, 1:5] = words.astype(U32)[:, None].view(np.uint8)
    data = np.arange(1000, 1128, dtype=U32)
    order = rng(66).permutation(128).astype(U32)
    scattered = np.zeros(128, U32)
    scattered[order] = data
    call = ("in", "order", "out")
    return [
        *cases,
        one("copies", "copy_packed", 70, 64, ("in", "out"), {"out": changed},
            **{"in": crooked, "out": 0 * crooked}),
        one("copies", "gather", 128, 64, call, {"out": data[order]},
            **{"in": data, "order": order, "out": 0 * data}),
        one("copies", "scatter", 128, 64, call, {"out": scattered},
            **{"in": data, "order": order, "out": 0 * data}),
        *(_where(grid, group) for grid, group in (((100,), (64,)), ((20, 9), (8, 4)),
                                                  ((5, 6, 7), (4, 4, 2)))),
    ]  # fmt: skip


def _prefix(right: Array, bytes_: int) -> object:
    """Only the first bytes of each element count: the fourth of three words is padding."""
    return lambda buffers: difference(buffers["out"][:, :bytes_], right[:, :bytes_])


def _where(grid: tuple[int, ...], group: tuple[int, ...]) -> Case:
    (w, h, d), (gw, gh, gd) = (*grid, 1, 1)[:3], (*group, 1, 1)[:3]
    rows = []
    for z in range(d):
        for y in range(h):
            for x in range(w):
                at, size = ((x, w, gw), (y, h, gh), (z, d, gd)), 0
                local = own = count = 0
                for axis, (i, n, g) in enumerate(at):
                    shift = 10 * axis
                    local |= i % g << shift
                    own |= i // g << shift
                    size |= min(g, n - i // g * g) << shift
                    count |= math.ceil(n / g) << shift
                rows.append([local, own, size, count, w, h, d, len(grid)])
    return one("copies", "where", grid, group, ("out",), {"out": np.array(rows, U32)},
               name=f"copies.where {grid} by {group}",
               out=np.zeros((w * h * d, 8), U32))  # fmt: skip


CASES = [
    *_scans(), *_sums(), *_sorts(), *_sparse(), *_control_flow(), _bodies(), *_images(),
    _generators(), _clusters(), *_transforms(), *_filters(), *_copies(),
]  # fmt: skip
