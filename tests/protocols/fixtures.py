"""Finds few seeds whose runs execute all transitions.

``python -m tests.protocols.fixtures NAME [N]`` runs seeds 0 to N-1 (500) and prints a small set of
them that reaches every transition that any of them reaches, and the transitions that none reaches.
"""

from __future__ import annotations

import sys

from tests.protocols.test_contention import missed, play


def main(name: str, seeds: int = 500) -> None:
    reached: dict[int, set[str]] = {}
    known: set[str] = set()
    for seed in range(seeds):
        counts = play(name, seed)
        cells = {f"{m}: ({s}, {e})" for m, row in counts.items() for s, e in row}
        known |= cells
        reached[seed] = cells - set(missed(counts))
    left = set().union(*reached.values())
    print("never:", sorted(known - left))
    chosen = []
    while left:
        best = max(reached, key=lambda seed: (len(left & reached[seed]), -seed))
        chosen.append(best)
        left -= reached[best]
    print("seeds:", tuple(sorted(chosen)))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
