"""Numbers that the tester's Python and C++ share, written as C++.

``python -m tester.native.shared_numbers`` writes the headers again; see
`runtime.native.shared_numbers`.
"""

from __future__ import annotations

from pathlib import Path

from runtime.native.shared_numbers import by_place, constant, constants, header, write
from runtime.types.atomic_op import AtomicKind
from slicc.scenario_text.bounds import MAX_TRANSFER_BYTES
from tester.execution.events import Role, Verdict
from tester.generator.native_loops import Drawn
from tester.native.batch import ResultWord
from tester.native.system import TESTER_CLIENTS
from tester.program import address_map, program


def headers() -> dict[Path, str]:
    """The headers of the tester. Those of the generator include nothing of the runtime."""
    scopes = ("BARE", "RACING_LOAD", "FLUSHES", "PLAIN", "BYPASSING_LOAD")
    kinds = {"LOAD_KIND": program.LOAD, "STORE_KIND": program.STORE, "ATOMIC_KIND": program.ATOMIC}
    bits = ("GLC", "SLC", "QUIET", "INSTRUCTION", "CONTINUES", *scopes)
    sizes = ("INACTIVE", "ATOMIC_BYTES", "MAX_ACCESS_BYTES")
    numbers = {
        **kinds,
        **{name: getattr(program, name) for name in (*bits, *sizes)},
        **{f"LAYOUT_{_upper(name)}": at for at, name in enumerate(address_map.LAYOUTS)},
        "SPLIT_PERCENT": address_map.SPLIT_PERCENT,
        "MAX_TRANSFER_BYTES": MAX_TRANSFER_BYTES,
        **{status.name: status for status in Drawn},
    }
    operations = {name: number for number, name in enumerate(AtomicKind.members())}
    operations["CAS_FAILS"] = AtomicKind.CAS | program.FAILS
    command = __spec__.name
    return {
        TESTER_CLIENTS.include_root / "execution" / "shared_numbers.hpp": header(
            command,
            "block/base.hpp",
            constants(Role, "u8"),
            by_place(Verdict, "u32"),
            "".join(constant("u32", f"EPISODE_{each}", getattr(program, each)) for each in scopes),
            constant("u8", "CAS_FAILS", program.FAILS),
            constant("u32", "ACTION_CONTINUES", program.CONTINUES),
            constant("u32", "ACTION_IN_ORDER", program.IN_ORDER),
            constants(ResultWord, "u32"),
            constant("u32", "RESULT_WORDS", len(ResultWord)),
        ),
        TESTER_CLIENTS.include_root / "generator" / "shared_numbers.hpp": header(
            command,
            "counter_rng.hpp",
            "".join(constant("int", name, each) for name, each in (operations | numbers).items()),
        ),
    }


def _upper(name: str) -> str:
    return name.upper().replace("-", "_")


if __name__ == "__main__":
    write(headers())
