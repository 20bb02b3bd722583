"""The names of a protocol that an invariant may have, and what they are to the native search.

Invariant: numbers of machines, states and fields are those of the generated code.
"""

from __future__ import annotations

from collections.abc import Sequence

from protocols.loader import LoadedProtocol
from runtime.controller.wakeup import Controller
from runtime.types.enumerations import AccessPermission
from slicc.text.lazy_dataclass import dataclass
from tester.exploration.small_system import metadata


@dataclass(frozen=True, slots=True)
class Field:
    """``sort``: "number", "set", "member" (of ``members``), "other": it cannot be asked for.
    ``name`` has the storage in front, as in ``entry.Sharers``."""

    number: int
    machine: int
    name: str
    sort: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names of one protocol."""

    declared: tuple[type[Controller], ...]
    fields: tuple[Field, ...]

    @property
    def machines(self) -> list[str]:
        return [each.MACHINE for each in self.declared]

    def states(self, machine: int) -> list[str]:
        states = self.declared[machine].STATES
        return [states.name_of(number) for number in range(states.NUM)]

    def permissions(self, machine: int) -> list[str]:
        """The permission of each state of a machine."""
        return [AccessPermission.name_of(each) for each in self.declared[machine].PERMISSIONS]

    def fields_of(self, machine: int) -> Sequence[Field]:
        return [each for each in self.fields if each.machine == machine]


def vocabulary(protocol: LoadedProtocol) -> Vocabulary:
    """The words that invariants of a protocol may use; without its native form, no fields are
    known."""
    listed = metadata(protocol)["fields"] if protocol.native else ()
    fields = (
        Field(number, machine, f"{storage}.{name}", sort, tuple(members))
        for number, (machine, storage, name, sort, members) in enumerate(listed)
    )
    return Vocabulary(protocol.info.machines, tuple(fields))
