"""Every header of the native engine includes what it uses.

Generated types come first where a header is not one of those that they build on.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime.native.build import HEADERS, Clients
from runtime.native.external_requester import EXTERNAL_CLIENTS
from tester.native.system import TESTER_CLIENTS
from tests.compiling import ROOT, compiler

TYPES = ROOT / "tests" / "slicc" / "codegen" / "cpp" / "golden" / "toy" / "types.hpp.txt"
BEHIND_ALL_LAYERS = {
    "system/system.hpp",
    "system/api.hpp",
    "requesters/external_api.hpp",
    "calls/api.hpp",
    "calls/batch.hpp",
    "execution/leg.hpp",
    *(
        f"untimed/{name}.hpp"
        for name in ("coder", "library_coders", "origin", "posting", "regions")
    ),
    *(f"untimed/{name}.hpp" for name in ("renaming", "state_code", "steps")),
}
"""They need the parts of every layer, which tests of single layers replace by their own."""


def complaints(text: str, place: Path, clients: Clients, *flags: str) -> tuple[str, str]:
    """What the compiler prints and what it complains about."""
    unit = place / "unit.cpp"
    unit.write_text(text)
    defines = {"LINE_BYTES": 64, "NODE_WORDS": 1, **clients.defines()}
    command = [*compiler().command, "-std=c++17", "-w", *flags]
    command += [f"-D{name}={value}" for name, value in defines.items()]
    command += [f"-I{each}" for each in (place, clients.include_root, HEADERS)]
    done = subprocess.run([*command, str(unit)], capture_output=True, text=True)
    assert done.returncode == 0 or done.stderr
    return done.stdout, done.stderr if done.returncode else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clients", "folders"),
    [(EXTERNAL_CLIENTS, "*"), (TESTER_CLIENTS, "execution")],
    ids=["runtime", "tester"],
)
def test_a_header_includes_what_it_uses(clients: Clients, folders: str, tmp_path: Path) -> None:
    prelude = '#include "system/prelude.hpp"\n'
    (tmp_path / "types.hpp").write_text(prelude + TYPES.read_text())
    first, _ = complaints(prelude, tmp_path, clients, "-MM")
    wrong = {}
    for path in sorted(clients.include_root.glob(f"{folders}/*.hpp")):
        name = path.relative_to(clients.include_root).as_posix()
        if name in BEHIND_ALL_LAYERS:
            continue
        text = f'#include "{name}"\n'
        if str(path) not in first.split():
            text = f'#include "types.hpp"\n{text}'
            # Templates that a header asks its clients for are defined in the end.
            text += '#include "controller/controller.hpp"\n#include SLICC_CLIENTS\n'
        _, found = complaints(text, tmp_path, clients, "-fsyntax-only")
        if found:
            wrong[name] = found[:1000]
    assert not wrong
