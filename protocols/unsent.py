"""What nothing causes in systems without some of a protocol's machines.

Compiling the texts for it takes a quarter of a second, so the answer is kept in the user's cache.
Invariant: the answer is about the texts that the protocol was loaded from; for texts that are gone
or have changed meanwhile there is none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from protocols.compile_cache import compiler_digest
from protocols.loader import LoadedProtocol, compiled_again
from runtime.native.toolchain.object_cache import key_of
from slicc.text.data import json_text
from slicc.text.kept import private_files

Unsent = dict[str, frozenset[tuple[str, str]]]
"""By machine: states and events."""

_MOST: Final = 100
"""Answers that are kept, the last ones."""


def unsent_cells(
    loaded: LoadedProtocol,
    present: Collection[str],
    include: Sequence[Path] = (),
    preludes: Sequence[Path] = (),
) -> Unsent:
    """``present``: the machines that the systems have. Empty where the texts cannot be read."""
    name = f"unsent-{key_of(compiler_digest(), loaded.identity.digest, *sorted(present))}"
    kept = private_files.load(name)
    if kept is not None:
        return _of_text(kept.decode())
    found = _computed(loaded, present, include, preludes)
    if found is None:
        return {}
    text = json_text({machine: sorted(cells) for machine, cells in found.items()})
    private_files.store(name, text.encode(), _MOST)
    return found


def _computed(
    loaded: LoadedProtocol,
    present: Collection[str],
    include: Sequence[Path],
    preludes: Sequence[Path],
) -> Unsent | None:
    from slicc.analysis.sent import unsent

    compiled = compiled_again(loaded, include, preludes)
    return None if compiled is None else unsent(compiled.protocol, present)


def _of_text(text: str) -> Unsent:
    return {
        machine: frozenset((state, event) for state, event in cells)
        for machine, cells in json.loads(text).items()
    }
