"""Numbers that the issue engine's Python and C++ share, written as C++.

``python -m gpu.compute_unit.native.shared_numbers`` writes the header again; see
`runtime.native.shared_numbers`.
"""

from __future__ import annotations

from pathlib import Path

from gpu.compute_unit.native import layout
from runtime.native.shared_numbers import constant, header, scoped, write


def headers() -> dict[Path, str]:
    """The header of the issue engine."""
    return {
        Path(__file__).parent / "cpp" / "shared_numbers.hpp": header(
            __spec__.name,
            "block/base.hpp",
            constant("u64", "VERSION", layout.VERSION)
            + constant("u8", "NO_PACE", layout.NO_PACE)
            + constant("u32", "LOG_ROOM", layout.LOG_ROOM)
            + constant("u32", "LIST_ROOM", layout.LIST_ROOM),
            scoped(layout.RecordKind, "u8"),
            scoped(layout.Reason, "u64"),
            scoped(layout.Entry, "u32"),
        )
    }


if __name__ == "__main__":
    write(headers())
