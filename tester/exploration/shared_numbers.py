"""Numbers that exploration in Python and C++ shares, written as C++.

``python -m tester.exploration.shared_numbers`` writes the header again; see
`runtime.native.shared_numbers`.
"""

from __future__ import annotations

from pathlib import Path

from runtime.native.shared_numbers import constant, header, write
from runtime.native.shared_numbers import words as each_word
from tester.exploration.invariants import words
from tester.native.system import TESTER_CLIENTS


def headers() -> dict[Path, str]:
    """The header of the native search."""
    return {
        TESTER_CLIENTS.include_root / "exploration" / "invariants" / "words.hpp": header(
            __spec__.name,
            "block/base.hpp",
            each_word(words.InvariantWord),
            constant("u32", "STATE_WORDS", words.STATE_WORDS)
            + constant("u32", "FILTER_WORDS", words.FILTER_WORDS)
            + constant("u32", "INVARIANT_DEPTH", words.DEPTH)
            + constant("u32", "MOST_INVARIANTS", words.MOST_INVARIANTS),
        )
    }


if __name__ == "__main__":
    write(headers())
