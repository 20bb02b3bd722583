"""Synchronises-with and happens-before, of all executions of a batch.

HSA has one happens-before for all address spaces. OpenCL has one for global and one for local
memory, which fences with both tags and seq_cst operations connect; here each is a *plane*, and the
rules say which planes there are. The host of a kernel, and what it starts with, is the initial
write: it happens before everything, in each plane.

Invariant: happens-before of a plane is transitive, and relates actions of the plane only, and
seq_cst operations, which are actions of each.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from gpu.memory_model.enumeration import Batch
from gpu.memory_model.events import Frame
from gpu.memory_model.program import BOTH_SPACES, Space
from gpu.memory_model.relations import (
    Relation,
    closure,
    compose,
    reflexive,
    restricted,
)
from slicc.text.lazy_dataclass import dataclass


class Rules(StrEnum):
    """Whose happens-before. Inclusion of scopes is HSA's in both: OpenCL's own asks for equal ones,
    and the code sequences of AMD's compilers, which serve both languages, are for HSA's."""

    hsa = "hsa"
    opencl = "opencl"


Plane = frozenset[Space]

PLANES: Final[dict[Rules, tuple[Plane, ...]]] = {
    Rules.hsa: (BOTH_SPACES,),
    Rules.opencl: (frozenset({Space.global_}), frozenset({Space.local})),
}


@dataclass(frozen=True)
class Executions:
    """A batch under some rules."""

    frame: Frame
    batch: Batch
    rules: Rules

    @cached_property
    def release_sequences(self) -> Relation:
        """From each write to those of its release sequence: contiguous in coherence order, by the
        same thread or by a read-modify-write. [OpenCL 3.0 API, Memory Ordering Rules; C11
        5.1.2.4 paragraph 10]"""
        frame, co = self.frame, self.batch.co
        breaks = co & ~(frame.same_thread | frame.updates)
        return reflexive(co & ~compose(breaks, reflexive(co)))

    @cached_property
    def synchronises(self) -> dict[Plane, Relation]:
        """Synchronises-with of each plane."""
        planes = PLANES[self.rules]
        direct = {plane: self._synchronises(plane) for plane in planes}
        if len(planes) == 1:
            return direct
        both = self._connects_planes & np.logical_or.reduce(list(direct.values()))
        return {plane: relation | both for plane, relation in direct.items()}

    @cached_property
    def _connects_planes(self) -> Relation:
        """Two fences of both address spaces, or two seq_cst operations: what synchronises in one
        plane does in the other. [OpenCL 3.0 API, Fence Operations, last paragraph; Atomic
        Operations, "Let X and Y be two memory_order_seq_cst operations"]"""
        frame = self.frame
        tagged = frame.fences & np.array([event.spaces == BOTH_SPACES for event in frame.events])
        result: Relation = (tagged[:, None] & tagged) | (frame.seq_cst[:, None] & frame.seq_cst)
        return result

    def _synchronises(self, plane: Plane) -> Relation:
        """A release synchronises with an acquire that reads from its release sequence, in inclusive
        scopes; a fence before the write, or behind the read, takes the place of either. [HSA PSA
        1.2, chapter 3, scoped synchronization order; OpenCL 3.0 API, Atomic Operations and Fence
        Operations; C11 5.1.2.4 paragraph 11, 7.17.4 paragraphs 2 to 4]"""
        frame = self.frame
        here = frame.of_spaces(plane)
        releases, acquires = frame.releasing & here, frame.acquiring & here
        accesses = frame.atomic & here
        po = frame.program_order
        before = np.diag(releases & accesses) | restricted(po, releases & frame.fences, accesses)
        behind = np.diag(acquires & accesses) | restricted(po, accesses, acquires & frame.fences)
        read = compose(self.release_sequences, restricted(self.batch.rf, accesses, accesses))
        pairs = compose(compose(before, read), behind)
        return pairs & frame.inclusive & ~frame.same_thread

    @cached_property
    def happens_before(self) -> dict[Plane, Relation]:
        """Happens-before in each plane: program order and synchronises-with, again and again. [HSA
        PSA 1.2, chapter 3, heterogeneous-happens-before; OpenCL 3.0 API, Memory Ordering Rules:
        global-happens-before and local-happens-before]"""
        result = {}
        for plane, synchronises in self.synchronises.items():
            here = self.frame.of_spaces(plane) | self.frame.seq_cst  # these connect the planes
            steps = restricted(self.frame.program_order | synchronises, here, here)
            result[plane] = closure(steps)
        return result

    @cached_property
    def in_any_plane(self) -> Relation:
        """Happens-before of one plane or another."""
        result: Relation = np.logical_or.reduce(list(self.happens_before.values()))
        return result

    @cached_property
    def seq_cst_steps(self) -> tuple[Relation, Relation, Relation]:
        """What orders two seq_cst operations: coherence order, what reads read, happens-before; in
        front of it a fence before the access, behind it one after the access. [C11 7.17.3,
        paragraphs 6 and 9 to 11]"""
        frame, batch = self.frame, self.batch
        fences = frame.seq_cst & frame.fences
        everything = np.ones_like(fences)
        return (
            reflexive(restricted(frame.program_order, fences, everything)),
            batch.co | batch.fr | self.in_any_plane,
            reflexive(restricted(frame.program_order, everything, fences)),
        )

    @cached_property
    def races(self) -> Relation:
        """Conflicting accesses that happens-before does not order, of which one is not atomic, or
        whose scopes do not include each other; atomics of different bytes that overlap, too, since
        neither specification says what they do. [HSA PSA 1.2, chapter 3, heterogeneous race; OpenCL
        3.0 API, Memory Ordering Rules, "data race"; C11 5.1.2.4 paragraph 25]"""
        frame = self.frame
        atomic = frame.atomic[:, None] & frame.atomic & frame.inclusive & frame.same_footprint
        suspects = frame.conflicting & ~atomic
        result = np.zeros_like(self.batch.rf)
        for plane, before in self.happens_before.items():
            here = frame.of_spaces(plane)
            ordered = before | before.swapaxes(-1, -2)
            result |= restricted(suspects & ~ordered, here, here)
        return result
