"""A protocol together with mutants of it, ready to be run on either engine.

Natively, all of them are one object with a switch, and number 0 is the original; in Python, each
is a package of controllers of its own, made when it is first wanted. Invariant: mutant ``number``
is the same protocol on both engines, and its description is the original's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from protocols.loader import NO_VALUES, LoadedProtocol, compiled_protocol, load_protocol
from runtime.controller.protocol_info import ProtocolInfo
from runtime.native.build import SHAPE, Sources
from slicc import ir
from slicc.mutation.mutant import Mutant
from slicc.mutation.mutants import mutants
from slicc.text.lazy_dataclass import dataclass

Choose = Callable[[Sequence[Mutant]], Sequence[Mutant]]
"""Takes every mutant of a protocol and returns those to run."""


@dataclass(frozen=True, slots=True)
class MutatedProtocol:
    """``loaded.native``: the original and ``mutants``, of which the first is number 1.

    ``ir``: the original's; ``total``: how many mutants there were to choose from.
    """

    loaded: LoadedProtocol
    ir: ir.Protocol
    mutants: tuple[Mutant, ...]
    total: int

    def in_python(self, number: int) -> ProtocolInfo:
        """The controllers of a mutant. Raises slicc's GenerationError."""
        from slicc.codegen.python.importer import load_package

        if number == 0:
            return self.loaded.info
        info: ProtocolInfo = load_package(self.mutants[number - 1].ir).PROTOCOL
        return info

    def alone(self, number: int) -> LoadedProtocol:
        """A mutant as a protocol of its own. The original was loaded with native sources."""
        alone = with_variants(self.loaded, self.mutants[number - 1].ir, ())
        return replace(alone, info=self.in_python(number))


def load_mutated(
    name: str,
    choose: Choose,
    include: Sequence[Path] = (),
    system: Path | None = None,
    preludes: Sequence[Path] = (),
    values: Mapping[str, object] = NO_VALUES,
    native: bool = True,
) -> MutatedProtocol:
    """As :func:`protocols.loader.load_protocol`, and raises what it raises."""
    loaded = load_protocol(name, include, system, native, preludes, values)
    protocol = compiled_protocol(name, include, preludes).protocol
    every = mutants(protocol)
    chosen = tuple(choose(every))
    if loaded.native is not None:
        loaded = with_variants(loaded, protocol, [mutant.ir for mutant in chosen])
    return MutatedProtocol(loaded, protocol, chosen, len(every))


def with_variants(
    loaded: LoadedProtocol, protocol: ir.Protocol, variants: Sequence[ir.Protocol]
) -> LoadedProtocol:
    """A protocol that has native sources, together with variants of it, from number 1."""
    from slicc.codegen.cpp import package

    assert loaded.native is not None
    made = package(protocol, variants)
    files = {**made.files, SHAPE: loaded.native.files[SHAPE]}
    return replace(loaded, native=Sources(made.name, files))
