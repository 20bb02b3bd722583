"""Did you mean …? Only when fairly sure.

Invariant: a suggestion is one of the candidates and differs from the word.
"""

from __future__ import annotations

from collections.abc import Iterable


def suggest(word: str, candidates: Iterable[str]) -> str | None:
    """The one candidate that ``word`` is most probably a slip of, or None.

    Edits are insertions, deletions, replacements and swaps of neighbours. One edit per four
    characters is forgiven (at least one from three characters on), difference in case alone is
    always forgiven, and a tie between two candidates is no answer.
    """
    budget = max(1 if len(word) >= 3 else 0, len(word) // 4)
    best: list[str] = []
    least = budget
    for candidate in dict.fromkeys(candidates):
        if candidate == word:
            continue
        if candidate.lower() == word.lower():
            found = 0
        elif len(candidate) < 2 or abs(len(candidate) - len(word)) > least:
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
