"""A completed description as a file that people go on writing.

Invariant: the text reads back and completes to the description that was printed. What would have
to change when something else is changed (numbers that follow from counts) is a comment, and so are
placeholders of values that are missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import tomlkit
from tomlkit.items import InlineTable, Table

from runtime.controller.declarations import BufferParameter, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import (
    BufferDescription,
    MachineDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.machine_groups import with_groups
from runtime.description.parameters import banked_machine
from runtime.description.reader import plain

_HEAD: Final = "A system of {}. What begins with # follows from the rest; say it to fix it."
_OF_COALESCERS: Final = ("tokens", "coalesces_per_cycle", "one_request_per_lane", "invalidates")
_FOLLOWING: Final = ("tokens", "outstanding", "context")
"""Fields of requesters that depend on agents or places."""


def editable_toml(
    file: str,
    written: SystemDescription,
    completed: SystemDescription,
    protocol: ProtocolInfo,
    missing: Collection[str] = (),
) -> str:
    """``file``: the protocol's, as the description names it; ``written``: what was not inferred.

    ``missing``: paths of parameters whose values are placeholders.
    """
    declared = {machine.MACHINE: machine.PARAMETERS for machine in protocol.machines}
    groups = with_groups(written, list(declared)).machines
    text = tomlkit.document()
    text.add(tomlkit.comment(_HEAD.format(protocol.name)))
    text.add(tomlkit.nl())
    data = completed.to_dict() | {"protocol": file}
    for name in ("protocol", "line_size", "values", "network", "memory"):
        if name in data:
            text.add(name, data[name])
    tables = {
        "machine": {
            name: _machine(
                group,
                groups[name],
                completed,
                declared[group.of or name],
                _unset(name, declared[group.of or name], missing),
            )
            for name, group in completed.machines.items()
        },
        "requester": {
            name: _requester(requester, written.requesters.get(name))
            for name, requester in completed.requesters.items()
        },
        "agents": {
            name: _table({key: value for key, value in plain(agents).items() if value != []})
            for name, agents in completed.agents.items()
        },
    }
    for kind, named in tables.items():
        if named:
            text.add(kind, _above(named))
    for kind in ("variant", "defect", "handover"):
        if kind in data:
            rows = tomlkit.aot()
            for row in data[kind]:
                rows.append(_table(row))
            text.add(kind, rows)
    if "gpu" in data:
        text.add("gpu", tomlkit.item(data["gpu"]))
    return tomlkit.dumps(text)


def _above(named: Mapping[str, Table]) -> Table:
    """Tables without a header of their own for all of them."""
    above = tomlkit.table(is_super_table=True)
    for name, table in named.items():
        above.add(name, table)
    return above


def _table(values: Mapping[str, object], follow: Mapping[str, str] | None = None) -> Table:
    """The lines of a table, those of ``follow`` as comments that say why."""
    table = tomlkit.table()
    for name, value in values.items():
        if follow is not None and name in follow:
            why = f"  # {follow[name]}" if follow[name] else ""
            table.add(tomlkit.comment(tomlkit.dumps({name: value}).rstrip() + why))
        else:
            table.add(name, _inline(value) if isinstance(value, Mapping) else value)
    return table


def _inline(values: Mapping[str, object]) -> InlineTable:
    table = tomlkit.inline_table()
    table.update(values)
    return table


def _machine(
    machine: MachineDescription,
    stated: MachineDescription,
    completed: SystemDescription,
    declared: Iterable[Parameter | BufferParameter],
    unset: dict[str, str],
) -> Table:
    data = plain(machine)
    top = {key: value for key, value in data.items() if not isinstance(value, dict) and value != []}
    follows = machine.as_many_as is not None and stated.count is None
    table = _table(top, {"count": ""} if follows else {})
    follow = {
        parameter: why
        for parameter in machine.parameters
        if parameter not in stated.parameters
        and (why := _follows(parameter, machine, completed)) is not None
    }
    table.add("parameters", _table(machine.parameters, follow | unset))
    if machine.derived:
        table.add("derived", _table(data["derived"]))
    caches = {}
    for name in machine.caches:
        written = stated.caches.get(name)
        fixed = written is not None and written.start_index_bit is not None
        caches[name] = _table(data["cache"][name], {} if fixed else {"start_index_bit": ""})
    if caches:
        table.add("cache", _above(caches))
    buffers = tomlkit.table()
    for parameter in declared:
        if isinstance(parameter, BufferParameter):
            buffers.add(parameter.name, _buffer(parameter, machine.buffers[parameter.name]))
    if buffers:
        table.add("buffer", buffers)
    return table


def _unset(
    machine: str, declared: Iterable[Parameter | BufferParameter], missing: Collection[str]
) -> dict[str, str]:
    """What the line of a placeholder says, by parameter."""
    return {
        parameter.name: f"a value of type {parameter.type} goes here"
        for parameter in declared
        if isinstance(parameter, Parameter)
        and f"machine.{machine}.parameters.{parameter.name}" in missing
    }


def _follows(name: str, machine: MachineDescription, completed: SystemDescription) -> str | None:
    derived = machine.derived.get(name)
    if derived is not None:
        return "derived below"
    banked = banked_machine(name, completed.machines)
    return None if banked is None else f"from the count of {banked}"


def _buffer(declared: BufferParameter, buffer: BufferDescription) -> InlineTable:
    usual = plain(BufferDescription())
    table = _inline(
        {
            name: value
            for name, value in plain(buffer).items()
            if name == "ordered" or value != usual.get(name)
        }
    )
    where = "internal"
    if declared.direction is not None:
        end = "to" if declared.direction == "To" else "from"
        where = f"{end} a neighbour"
        if declared.virtual_network is not None:
            where = f"{end} virtual network {declared.virtual_network}"
    table.comment(where)
    return table


def _requester(requester: RequesterDescription, given: RequesterDescription | None) -> Table:
    coalescer = (requester.class_name or "").endswith("Coalescer")
    values = {
        name: value
        for name, value in plain(requester).items()
        if coalescer or name not in _OF_COALESCERS
    }
    follow = {name: "" for name in _FOLLOWING if given is None or getattr(given, name) is None}
    return _table(values, follow)
