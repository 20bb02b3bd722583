"""What nothing causes in systems without some of a protocol's machines.

Compiling the texts for it takes a quarter of a second, so the answer is kept in the user's cache.
Invariant: the answer is about the texts that the protocol was loaded from; for texts that are gone
or have changed meanwhile there is none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from protocols.compile_cache import compiler_digest, digest_of
from protocols.loader import LoadedProtocol, ProtocolBroken, ProtocolMissing, compiled_protocol
from runtime.native.toolchain.object_cache import CacheError, key_of, user_cache, write_all
from slicc.text.data import json_text

Unsent = dict[str, frozenset[tuple[str, str]]]
"""By machine: states and events."""

_KIND: Final = "unsent"
_ENTRY: Final = "cells.json"


def unsent_cells(
    loaded: LoadedProtocol,
    present: Collection[str],
    include: Sequence[Path] = (),
    preludes: Sequence[Path] = (),
) -> Unsent:
    """``present``: the machines that the systems have. Empty where the texts cannot be read."""
    key = key_of(compiler_digest(), loaded.identity.digest, *sorted(present))
    found = _kept(key)
    if found is None:
        found = _computed(loaded, present, include, preludes)
        if found is None:
            return {}
        _keep(key, found)
    return found


def _computed(
    loaded: LoadedProtocol,
    present: Collection[str],
    include: Sequence[Path],
    preludes: Sequence[Path],
) -> Unsent | None:
    from slicc.analysis.sent import unsent

    try:
        if loaded.texts is not None:
            with loaded.texts.written() as (root, driver, written):
                compiled = compiled_protocol(str(driver), [root], written)
        else:
            name = loaded.identity.path or loaded.identity.name
            compiled = compiled_protocol(name, include, preludes)
    except (ProtocolMissing, ProtocolBroken, OSError):
        return None
    if digest_of(compiled) != loaded.identity.digest:
        return None
    return unsent(compiled.protocol, present)


def _kept(key: str) -> Unsent | None:
    try:
        entry = user_cache().find(_KIND, key)
        if entry is None:
            return None
        machines = json.loads((entry / _ENTRY).read_text(encoding="utf-8"))
    except OSError:
        return None
    return {
        name: frozenset((state, event) for state, event in cells)
        for name, cells in machines.items()
    }


def _keep(key: str, found: Unsent) -> None:
    store = user_cache()
    if store.note:
        return  # it would be dropped before another run could find it
    text = json_text({name: sorted(cells) for name, cells in found.items()})
    with suppress(CacheError):
        store.make(_KIND, key, lambda directory: write_all(directory, {_ENTRY: text}))
