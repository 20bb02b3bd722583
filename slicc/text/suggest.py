"""Suggestions for misspelt names, made only when fairly sure.

Invariant: a suggestion is one of the candidates and differs from the word; finding it takes one
pass over the candidates and at most ``MOST_COMPARED`` comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80
"""Longest word (in characters) that suggestions are made for."""
MOST_COMPARED = 1000
"""Candidates of about the word's length. Among more, a close one is there by chance."""


def suggest(word: str, candidates: Iterable[str]) -> str | None:
    """The one candidate that ``word`` is most probably meant for, or None.

    Edits are insertions, deletions, replacements and swaps of neighbours. One edit per four
    characters is allowed (at least one from three characters on), a difference in case alone is
    always allowed, and a tie between two candidates gives None.
    """
    size = len(word)
    if size > LONGEST:
        return None
    least = max(1 if size >= 3 else 0, size // 4)
    near = dict.fromkeys(other for other in candidates if -least <= len(other) - size <= least)
    near.pop(word, None)
    if len(near) > MOST_COMPARED:
        return None
    lower = word.lower()
    best: list[str] = []
    for candidate in near:
        if candidate.lower() == lower:
            found = 0
        elif len(candidate) < 2 or abs(len(candidate) - size) > least:
            continue
        else:
            found = edit_distance(word, candidate, least)
        if found < least:
            best, least = [candidate], found
        elif found == least:
            best.append(candidate)
    return best[0] if len(best) == 1 else None


def edit_distance(a: str, b: str, limit: int) -> int:
    """Edits from ``a`` to ``b``; any number above ``limit`` if it takes more."""
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before, above = above, row
    return above[-1]
