"""Which line of a set is evicted.

Invariant: a policy is a function of the order of touches in its set and of nothing else; no
time, no chance, and ties go to the lowest way.
"""

from __future__ import annotations


class ReplacementPolicy:
    """The replacement state of one cache. Sets and ways count from 0."""

    __slots__ = ("sets", "ways")

    def __init__(self, sets: int, ways: int) -> None:
        self.sets = sets
        self.ways = ways

    def touch(self, index: int, way: int) -> None:
        """The way was used (also: filled)."""
        raise NotImplementedError

    def invalidate(self, index: int, way: int) -> None:
        """The way was emptied: it is to be chosen next."""
        raise NotImplementedError

    def victim(self, index: int) -> int:
        """The way to evict from in a full set. Asking changes nothing."""
        raise NotImplementedError


class LRU(ReplacementPolicy):
    """The way whose last touch is longest ago. Touches are counted, so no two are equal."""

    __slots__ = ("_clock", "_last")

    def __init__(self, sets: int, ways: int) -> None:
        ReplacementPolicy.__init__(self, sets, ways)
        self._clock = 0
        self._last = [[0] * ways for _ in range(sets)]

    def touch(self, index: int, way: int) -> None:
        self._clock += 1
        self._last[index][way] = self._clock

    def invalidate(self, index: int, way: int) -> None:
        self._last[index][way] = 0

    def victim(self, index: int) -> int:
        last = self._last[index]
        return last.index(min(last))


class TreePLRU(ReplacementPolicy):
    """A binary tree over the ways; every node points to the half that was used less recently.

    The tree of a set is one integer. Node 1 is the root, node ``n`` has children ``2n`` and
    ``2n + 1``, way ``w`` is leaf ``ways + w``; bit ``n`` set means "the victim is on the
    right". ``ways`` is a power of two.
    """

    __slots__ = ("_away", "_path", "_towards", "_trees", "_victims")

    def __init__(self, sets: int, ways: int) -> None:
        ReplacementPolicy.__init__(self, sets, ways)
        if ways & (ways - 1):
            raise ValueError(f"tree_plru needs a power of two of ways, not {ways}")
        self._trees = [0] * sets
        self._path = [0] * ways
        self._towards = [0] * ways
        for way in range(ways):
            node = ways + way
            while node > 1:
                parent = node >> 1
                self._path[way] |= 1 << parent
                if node & 1:
                    self._towards[way] |= 1 << parent
                node = parent
        self._away = [self._path[way] & ~self._towards[way] for way in range(ways)]
        self._victims: dict[int, int] = {}
        """Tree -> the way it points to, for trees that were asked about."""

    def touch(self, index: int, way: int) -> None:
        trees = self._trees
        trees[index] = trees[index] & ~self._path[way] | self._away[way]

    def invalidate(self, index: int, way: int) -> None:
        trees = self._trees
        trees[index] = trees[index] & ~self._path[way] | self._towards[way]

    def victim(self, index: int) -> int:
        tree = self._trees[index]
        way = self._victims.get(tree)
        if way is None:
            node = 1
            while node < self.ways:
                node = 2 * node + (tree >> node & 1)
            assert self.ways <= node < 2 * self.ways, "a tree ends at a leaf"
            way = self._victims[tree] = node - self.ways
        return way


_POLICIES: dict[str, type[ReplacementPolicy]] = {"lru": LRU, "tree_plru": TreePLRU}

POLICY_NAMES = tuple(_POLICIES)


def make_policy(name: str, sets: int, ways: int) -> ReplacementPolicy:
    """The policy of that name. Raises ``ValueError`` for an unknown one or impossible sizes."""
    if name not in _POLICIES:
        raise ValueError(f"no replacement policy {name!r}; there are {', '.join(POLICY_NAMES)}")
    return _POLICIES[name](sets, ways)
