"""Parts the ends of edges that Graphviz lets end in nearly one point of a node.

It aims every edge at the middle of its node, so edges that come from afar on one side end side by
side there. In the SVG their ends are moved along that side, in the order in which they come.
Invariant: an end stays on its side of its node; only ends of boxes move, whose sides are straight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from slicc.text.lazy_dataclass import dataclass

_GAP: Final = 9.0
"""Points between two ends: an arrow-head and a little."""
_NEAR: Final = 1.0
"""Points that an end may be inside of the side where it is."""
_ITEM: Final = re.compile(
    r'<g id="(node|edge)\d+" class.*?<title>(.*?)</title>(.*?)(?=<!-- |</g>\n</svg>)', re.DOTALL
)
_POINT: Final = re.compile(r"(-?[\d.]+),(-?[\d.]+)")
_CURVE: Final = re.compile(r' d="(M[^"]*)"')
_HEAD: Final = re.compile(r' points="([^"]*)"')
_Point = tuple[float, float]


@dataclass(slots=True)
class _Edge:
    """``moves``: of its first end and of its last one, along both axes."""

    ends: Sequence[str]
    curve: list[_Point]
    moves: tuple[list[float], list[float]]


@dataclass(frozen=True, slots=True)
class _End:
    """``axis``: along which it may move (0: across the picture). ``toward``: where the edge comes
    from on that axis."""

    edge: _Edge
    last: bool
    axis: int
    at: float
    toward: float


@dataclass(frozen=True, slots=True)
class _Box:
    """From the first of its corners to the last one."""

    low: _Point
    high: _Point

    def side(self, point: _Point) -> tuple[int, bool] | None:
        """The axis along which the side runs that a point is at, and whether it is the far side
        of the box; None at a corner."""
        at = [
            (1 - axis, self.high[axis] <= point[axis] + _NEAR)
            for axis in (0, 1)
            if not self.low[axis] + _NEAR < point[axis] < self.high[axis] - _NEAR
        ]
        return at[0] if len(at) == 1 else None


def part_ends(svg: str) -> str:
    """The picture with ends of edges apart."""
    items = list(_ITEM.finditer(svg))
    boxes = {item[2]: _box(item[3]) for item in items if _is_box(item)}
    edges = {item.start(): _edge(item) for item in items if item[1] == "edge"}
    sides: dict[tuple[str, int, bool], list[_End]] = {}
    for edge in edges.values():
        for last, points in ((False, edge.curve), (True, edge.curve[::-1])):
            box = boxes.get(edge.ends[last])
            side = None if box is None else box.side(points[0])
            if side is not None:
                end = _End(edge, last, side[0], points[0][side[0]], points[2][side[0]])
                sides.setdefault((edge.ends[last], *side), []).append(end)
    for (name, axis, _), ends in sides.items():
        _part(ends, boxes[name].low[axis], boxes[name].high[axis])
    return _ITEM.sub(lambda item: _moved(item, edges.get(item.start())), svg)


def _is_box(item: re.Match[str]) -> bool:
    return item[1] == "node" and "<path" in item[3]


def _box(text: str) -> _Box:
    curves = [_points(curve) for curve in _CURVE.findall(text)]
    across, down = zip(*(point for curve in curves for point in curve), strict=True)
    return _Box((min(across), min(down)), (max(across), max(down)))


def _points(curve: str) -> list[_Point]:
    return [(float(x), float(y)) for x, y in _POINT.findall(curve)]


def _edge(item: re.Match[str]) -> _Edge:
    curve = _CURVE.search(item[3])
    points = [] if curve is None else _points(curve[1])
    ends = item[2].split("&#45;&gt;")
    if len(points) < 4 or len({*ends}) != 2 or item[3].count("<polygon") != 1:
        ends, points = ["", ""], [(0.0, 0.0)] * 4  # a loop, or arrow-heads at both ends: it stays
    return _Edge(ends, points, ([0.0, 0.0], [0.0, 0.0]))


def _part(ends: Sequence[_End], low: float, high: float) -> None:
    """Move the ends of one side, which reaches from ``low`` to ``high``."""
    gap = min(_GAP, (high - low) / (len(ends) + 1))
    places: list[float] = []
    for at in sorted(end.at for end in ends):
        places.append(max(at, places[-1] + gap) if places else at)
    pushed = sum(places) / len(places) - sum(end.at for end in ends) / len(ends)
    pushed = max(pushed, places[-1] - (high - gap))
    pushed = min(pushed, places[0] - (low + gap))
    for end, place in zip(sorted(ends, key=lambda end: (end.toward, end.at)), places, strict=True):
        end.edge.moves[end.last][end.axis] = place - pushed - end.at


def _moved(item: re.Match[str], edge: _Edge | None) -> str:
    if edge is None or not any(map(any, edge.moves)):
        return item[0]
    first, last = edge.moves
    curve = [
        *(_plus(point, first) for point in edge.curve[:2]),
        *edge.curve[2:-2],
        *(_plus(point, last) for point in edge.curve[-2:]),
    ]
    text = _CURVE.sub(lambda _: f' d="{_curve_text(curve)}"', item[0], count=1)
    return _HEAD.sub(lambda head: f' points="{_moved_points(head[1], last)}"', text)


def _plus(point: _Point, move: Sequence[float]) -> _Point:
    return point[0] + move[0], point[1] + move[1]


def _moved_points(text: str, move: Sequence[float]) -> str:
    return " ".join(_text(_plus((float(x), float(y)), move)) for x, y in _POINT.findall(text))


def _curve_text(points: Sequence[_Point]) -> str:
    start, *rest = map(_text, points)
    return f"M{start}C{' '.join(rest)}"


def _text(point: _Point) -> str:
    return f"{point[0]:.2f},{point[1]:.2f}"
