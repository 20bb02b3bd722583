"""Ends of edges in pictures: apart, and still where their nodes are."""

from __future__ import annotations

import re
from itertools import pairwise
from math import dist

import pytest

from slicc.book.edge_ends import part_ends
from slicc.book.state_diagram import render_diagram, state_diagram
from slicc.compiler import compile
from tests.slicc.book.test_book import PROTOCOLS, needs_dot

Point = tuple[float, float]
HEAD = re.compile(r'<polygon fill="#[^>]*points="([^"]*)"')


def heads(svg: str) -> list[Point]:
    """The middles of arrow-heads."""
    found = []
    for points in HEAD.findall(svg):
        corners = [tuple(map(float, pair.split(","))) for pair in points.split()]
        found.append(tuple(sum(axis) / len(corners) for axis in zip(*corners)))
    return [(x, y) for x, y in found]


def together(points: list[Point]) -> int:
    """Pairs that cannot be told from each other."""
    return sum(dist(one, other) < 4 for i, one in enumerate(points) for other in points[:i])


@needs_dot
@pytest.mark.parametrize(
    ("protocol", "name"), [("GPU_VIPER", "TCC"), ("MOESI_AMD_Base", "Directory")]
)
def test_arrows_do_not_end_in_one_point(protocol: str, name: str) -> None:
    machines = compile(PROTOCOLS / f"{protocol}.slicc").protocol.machines
    machine = next(each for each in machines if each.name == name)
    diagram = state_diagram(machine, protocol, titled=False)
    plain = diagram.pipe("svg", quiet=True).decode()
    parted = render_diagram(diagram, "svg").decode()
    before, after = heads(plain), heads(parted)
    assert together(before) > 0 and together(after) == 0
    moved = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert moved and all(one[0] == other[0] or one[1] == other[1] for one, other in moved)
    assert max(dist(one, other) for one, other in moved) < 60
    assert re.sub(r'(points| d)="[^"]*"', "", parted) == re.sub(r'(points| d)="[^"]*"', "", plain)


BOX = '<g id="node1" class="node">\n<title>A</title>\n<path d="M0,0C0,0 90,0 90,90"/>\n</g>\n'
EDGE = (
    '<g id="edge{0}" class="edge">\n<title>{1}&#45;&gt;A</title>\n'
    '<path d="M300,{2}C250,{2} 150,{2} 100,{2}"/>\n'
    '<polygon points="100,{2} 92,{2}"/>\n</g>\n'
)


def picture(*edges: str) -> str:
    return (
        f"<svg>\n<!-- A -->\n{BOX}"
        + "".join(f"<!-- -->\n{each}" for each in edges)
        + "</g>\n</svg>"
    )


def test_ends_keep_their_order_and_their_side() -> None:
    svg = part_ends(picture(*(EDGE.format(n, f"B{n}", 84 + n / 10) for n in range(5))))
    ends = [y for _, y in heads(svg.replace("<polygon ", '<polygon fill="#000" '))]
    assert ends == sorted(ends) and ends[0] > 0 and ends[-1] < 90
    assert min(b - a for a, b in pairwise(ends)) > 8.9


@pytest.mark.parametrize(
    "svg",
    [
        "",
        "<svg></svg>",
        picture(EDGE.format(1, "A", 40), EDGE.format(2, "A", 40)),
        picture(EDGE.format(1, "B", 40)),
        picture(EDGE.format(1, "B", -40), EDGE.format(2, "C", -40)),
    ],
)
def test_what_need_not_move_stays(svg: str) -> None:
    assert part_ends(svg) == svg
