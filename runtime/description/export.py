"""A completed description as a file that people go on writing.

Invariant: the text reads back and completes to the description that was printed. What would have
to change when something else is changed (numbers that follow from counts) is a comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from runtime.declarations import BufferParameter, Parameter, ProtocolInfo
from runtime.description import (
    BufferDescription,
    MachineDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.machine_groups import with_groups
from runtime.description.origin import toml_key, toml_text, toml_value
from runtime.description.parameters import banked_machine
from runtime.description.reader import plain, plain_defect, plain_machine

_HEAD: Final = """\
# A system of {name}. What begins with # follows from the rest; say it to fix it.

protocol = {file}
line_size = {line_size}
{values}"""
_OF_COALESCERS: Final = ("tokens", "coalesces_per_cycle", "one_request_per_lane", "invalidates")
_FOLLOWING: Final = ("tokens", "outstanding", "context")
"""Fields of requesters that depend on agents or places."""


def editable_toml(
    file: str, written: SystemDescription, completed: SystemDescription, protocol: ProtocolInfo
) -> str:
    """``file``: the protocol's, as the description names it; ``written``: what was not inferred."""
    head = _HEAD.format(
        name=protocol.name,
        file=toml_value(file),
        line_size=completed.line_size,
        values="" if completed.values else "values = false\n",
    )
    parts = [
        head,
        _table(("network",), _fields(plain(completed.network))),
        _table(("memory",), _fields(plain(completed.memory))),
    ]
    groups = with_groups(written, [machine.MACHINE for machine in protocol.machines]).machines
    for machine in protocol.machines:
        for name in completed.groups_of(machine.MACHINE):
            parts += _machine(name, groups[name], completed, machine.PARAMETERS)
    for name, requester in completed.requesters.items():
        given = written.requesters.get(name)
        parts.append(_table(("requester", name), _requester(requester, given)))
    for name, agents in completed.agents.items():
        said = {key: value for key, value in plain(agents).items() if value != []}
        parts.append(_table(("agents", name), _fields(said)))
    if completed.defects:
        parts.append(toml_text({"defect": [plain_defect(defect) for defect in completed.defects]}))
    if completed.handovers:
        parts.append(toml_text({"handover": [plain(row) for row in completed.handovers]}))
    if completed.gpu:
        parts.append(toml_text({"gpu": completed.gpu}))
    return "\n".join(parts)


def _table(path: Iterable[str], lines: Iterable[str]) -> str:
    return f"[{'.'.join(toml_key(part) for part in path)}]\n" + "".join(f"{x}\n" for x in lines)


def _fields(values: Mapping[str, object], follow: Iterable[str] = ()) -> list[str]:
    """Lines of a table, those of ``follow`` as comments."""
    return [
        f"{'# ' if name in follow else ''}{toml_key(name)} = {toml_value(value)}"
        for name, value in values.items()
    ]


def _machine(
    name: str,
    said: MachineDescription,
    completed: SystemDescription,
    declared: Iterable[Parameter | BufferParameter],
) -> list[str]:
    machine = completed.machines[name]
    top = {
        key: value for key, value in plain_machine(machine).items() if not isinstance(value, dict)
    }
    follows = ("count",) if machine.as_many_as is not None and said.count is None else ()
    parts = [_table(("machine", name), _fields(top, follows))]
    follow = {
        parameter: why
        for parameter in machine.parameters
        if parameter not in said.parameters
        and (why := _follows(parameter, machine, completed)) is not None
    }
    lines = [
        f"# {line}  # {follow[parameter]}" if parameter in follow else line
        for parameter, line in zip(machine.parameters, _fields(machine.parameters), strict=True)
    ]
    parts.append(_table(("machine", name, "parameters"), lines))
    if machine.derived:
        derived = [f"{toml_key(k)} = {_inline(plain(v))}" for k, v in machine.derived.items()]
        parts.append(_table(("machine", name, "derived"), derived))
    for cache, geometry in machine.caches.items():
        written = said.caches.get(cache)
        fixed = written is not None and written.start_index_bit is not None
        lines = _fields(plain(geometry), () if fixed else ("start_index_bit",))
        parts.append(_table(("machine", name, "cache", cache), lines))
    buffers = [
        _buffer(parameter, machine.buffers[parameter.name])
        for parameter in declared
        if isinstance(parameter, BufferParameter)
    ]
    if buffers:
        parts.append(_table(("machine", name, "buffer"), buffers))
    return parts


def _follows(name: str, machine: MachineDescription, completed: SystemDescription) -> str | None:
    derived = machine.derived.get(name)
    if derived is not None:
        return "derived below"
    banked = banked_machine(name, completed.machines)
    return None if banked is None else f"from the count of {banked}"


def _buffer(declared: BufferParameter, buffer: BufferDescription) -> str:
    usual = plain(BufferDescription())
    values = {
        name: value
        for name, value in plain(buffer).items()
        if name == "ordered" or value != usual.get(name)
    }
    where = "internal"
    if declared.direction is not None:
        end = "to" if declared.direction == "To" else "from"
        where = f"{end} a neighbour"
        if declared.virtual_network is not None:
            where = f"{end} virtual network {declared.virtual_network}"
    return f"{toml_key(declared.name)} = {_inline(values)}  # {where}"


def _inline(values: Mapping[str, object]) -> str:
    return f"{{ {', '.join(_fields(values))} }}"


def _requester(requester: RequesterDescription, given: RequesterDescription | None) -> list[str]:
    coalescer = (requester.class_name or "").endswith("Coalescer")
    values = {
        name: value
        for name, value in plain(requester).items()
        if coalescer or name not in _OF_COALESCERS
    }
    follow = [name for name in _FOLLOWING if given is None or getattr(given, name) is None]
    return _fields(values, follow)
