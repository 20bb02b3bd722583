"""Numbers that exploration in Python and C++ shares, written as C++.

``python -m tester.exploration.shared_numbers`` writes the header again; see
`runtime.native.shared_numbers`.
"""

from __future__ import annotations

from pathlib import Path

from runtime.native.shared_numbers import constant, header, plain, write
from runtime.native.shared_numbers import words as each_word
from tester.exploration import native_words as native
from tester.exploration.invariants import words
from tester.exploration.operations import Target
from tester.native.system import TESTER_CLIENTS


def headers() -> dict[Path, str]:
    """The headers of the native search."""
    sizes = ("MOST_CHOICES", "MOST_STEPS", "MOST_CODE")
    threads = ("THREAD_AGENTS", "THREAD_STEPS", "THREAD_REGISTERS", "BEFOREHAND")
    return {
        TESTER_CLIENTS.include_root / "exploration" / "shared_numbers.hpp": header(
            __spec__.name,
            "block/base.hpp",
            "".join(constant("u32", each, getattr(native, each)) for each in (*sizes, *threads)),
            "".join(
                constant("i64", each, getattr(native, each))
                for each in ("NONE_STUCK", "NOT_JUDGED")
            ),
            plain(native.SearchEnd, "u32", "SEARCH_"),
            plain(native.FindingKind, "u32", "FOUND_"),
            plain(native.WalkFault, "u64", "WALK_"),
            plain(native.ConfigWord, "u32", "CONFIG_"),
            plain(Target, "u8", "TARGET_"),
            each_word(native.ChoiceWord),
            each_word(native.StatWord),
            each_word(native.ThreadWord),
            each_word(native.ActionWord),
        ),
        TESTER_CLIENTS.include_root / "exploration" / "invariants" / "words.hpp": header(
            __spec__.name,
            "block/base.hpp",
            each_word(words.InvariantWord),
            constant("u32", "STATE_WORDS", words.STATE_WORDS)
            + constant("u32", "FILTER_WORDS", words.FILTER_WORDS)
            + constant("u32", "INVARIANT_DEPTH", words.DEPTH)
            + constant("u32", "MOST_INVARIANTS", words.MOST_INVARIANTS),
        ),
    }


if __name__ == "__main__":
    write(headers())
