"""Two protocols compared as tables: what one has and the other has not, and what changed.

Everything with a name is compared by what the printer of the IR says about it, so that positions,
comments and descriptions make no difference. Invariant: no change means the same behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from slicc import ir
from slicc.ir import printer
from slicc.text.lazy_dataclass import dataclass

Lines = tuple[str, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing by its name. ``before`` is None if it was added, ``after`` if it was removed."""

    name: str
    before: Lines | None
    after: Lines | None

    @property
    def sign(self) -> str:
        """``+``, ``-`` or ``~``."""
        return "+" if self.before is None else "-" if self.after is None else "~"


@dataclass(frozen=True, slots=True)
class Section:
    """Changes of one kind; ``is_table``: each takes a line or two, not a text."""

    title: str
    changes: tuple[Change, ...]
    is_table: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A machine, or what is outside of machines."""

    title: str
    sign: str
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """``before`` and ``after`` name the versions; no parts: they are equal."""

    before: str
    after: str
    parts: tuple[Part, ...]


def compare(before: ir.Protocol, after: ir.Protocol, names: tuple[str, str]) -> Difference:
    """What differs; ``names`` are those of the versions."""
    parts = [Part("outside of machines", "~", tuple(_types(before, after)))]
    old = {machine.name: machine for machine in before.machines}
    new = {machine.name: machine for machine in after.machines}
    for name in dict.fromkeys((*old, *new)):
        title = f"machine {name}"
        if name not in old or name not in new:
            parts.append(Part(title, "+" if name in new else "-"))
        else:
            parts.append(Part(title, "~", tuple(_machine(old[name], new[name]))))
    changed = tuple(part for part in parts if part.sections or part.sign != "~")
    return Difference(*names, changed)


def _types(before: ir.Protocol | ir.Machine, after: ir.Protocol | ir.Machine) -> Iterator[Section]:
    yield from _section("types", _printed_types(before), _printed_types(after))


def _printed_types(scope: ir.Protocol | ir.Machine) -> dict[str, Lines]:
    enums = {e.ref.name: _members(e) for e in scope.enums if not e.library}
    structs = {s.ref.name: tuple(printer.structure_lines(s, "")) for s in scope.structs}
    return enums | {s.ref.name: structs[s.ref.name] for s in scope.structs if not s.library}


def _members(enum: ir.Enum_) -> Lines:
    return (*(member.name for member in enum.members), f"default {enum.default}")


def _machine(before: ir.Machine, after: ir.Machine) -> Iterator[Section]:
    for title, read, is_table in _SECTIONS:
        yield from _section(title, read(before), read(after), is_table)
    yield from _types(before, after)


def _section(
    title: str,
    before: Mapping[str, Lines],
    after: Mapping[str, Lines],
    is_table: bool = False,
) -> Iterator[Section]:
    changes = tuple(
        Change(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )
    if changes:
        yield Section(title, changes, is_table)


# ------------------------------------------------------------------ what is compared


def _properties(machine: ir.Machine) -> dict[str, Lines]:
    """What is no thing with a name: orders that have a meaning, and the implicit types."""
    refs = {"TBE type": machine.tbe, "entry type": machine.entry}
    return {
        "initial state": (machine.states.default,),
        "order of in-ports": tuple(port.ref.name for port in machine.in_ports),
        **{name: () if ref is None else (ref.name,) for name, ref in refs.items()},
    }


def _states(machine: ir.Machine) -> dict[str, Lines]:
    return {
        state.name: ("" if state.permission is None else state.permission.value,)
        for state in machine.states.members
    }


def _events(machine: ir.Machine) -> dict[str, Lines]:
    requests = () if machine.request_types is None else machine.request_types.members
    names = [event.name for event in machine.events.members]
    return dict.fromkeys([*names, *(f"request type {each.name}" for each in requests)], ())


def _cells(machine: ir.Machine) -> dict[str, Lines]:
    return {
        f"{cell.state}, {cell.event}": _cell(cell.state, machine.transitions[cell.transition])
        for cell in machine.cells
    }


def _cell(state: str, transition: ir.Transition) -> Lines:
    """What a transition does in a state; to name that state as the next one is to stay."""
    stays = transition.next.state == state
    following = (
        "stay"
        if stays
        else {
            ir.NextKind.STAY: "stay",
            ir.NextKind.STATE: f"to {transition.next.state}",
            ir.NextKind.COMPUTED: "to the computed state",
        }[transition.next.kind]
    )
    requests = (f"records {', '.join(transition.request_types)}",)
    actions = ", ".join(action.name for action in transition.actions) or "no action"
    return (following, *(requests if transition.request_types else ()), actions)


def _by_name(
    things: Iterable[T], name: Callable[[T], str], lines: Callable[[T], list[str]]
) -> dict[str, Lines]:
    return {name(thing): tuple(lines(thing)) for thing in things}


def _actions(machine: ir.Machine) -> dict[str, Lines]:
    return _by_name(machine.actions, lambda each: each.ref.name, printer.action_lines)


def _in_ports(machine: ir.Machine) -> dict[str, Lines]:
    return _by_name(machine.in_ports, lambda each: each.ref.name, printer.in_port_lines)


def _out_ports(machine: ir.Machine) -> dict[str, Lines]:
    return _by_name(machine.out_ports, lambda each: each.ref.name, printer.out_port_lines)


def _functions(machine: ir.Machine) -> dict[str, Lines]:
    return _by_name(
        machine.functions, lambda each: each.ref.name, lambda each: printer.function_lines(each, "")
    )


def _storage(machine: ir.Machine) -> dict[str, Lines]:
    parameters = _by_name(machine.parameters, lambda each: each.name, printer.parameter_lines)
    return parameters | _by_name(machine.objects, lambda each: each.name, printer.object_lines)


_SECTIONS: Final[tuple[tuple[str, Callable[[ir.Machine], dict[str, Lines]], bool], ...]] = (
    ("properties", _properties, True),
    ("states", _states, True),
    ("events", _events, True),
    ("cells", _cells, True),
    ("actions", _actions, False),
    ("in-ports", _in_ports, False),
    ("out-ports", _out_ports, True),
    ("parameters and objects", _storage, True),
    ("functions", _functions, False),
)
