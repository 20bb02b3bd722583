"""Scenarios as text: what reading gives back, equal.

Invariant: `parse_scenario` of what `printed` returns is equal to the scenario, which must have been
read or built of names that the grammar has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import number

_SCOPES = ("glc", "slc", "instruction", "quiet")


def printed(scenario: syntax.Scenario) -> str:
    """The whole text, which ends with a newline."""
    parts = [_headings(scenario), _table(scenario), [str(each) for each in scenario.conditions]]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


def _headings(scenario: syntax.Scenario) -> list[str]:
    lines = []
    if scenario.title:
        lines.append(f'scenario "{scenario.title}"')
    if scenario.protocol is not None:
        lines.append(f'protocol "{scenario.protocol}"')
    if scenario.model is not None:
        lines.append(f"model {scenario.model.value}")
    if scenario.keys:
        lines.append(f"keys {', '.join(map(str, scenario.keys))}")
    if scenario.delays:
        lines.append(f"delays {', '.join(scenario.delays)}")
    if scenario.limit is not None:
        lines.append(f"limit {scenario.limit}")
    if scenario.without:
        lines.append(f"without {', '.join(scenario.without)}")
    if scenario.local:
        lines.append(f"local {', '.join(scenario.local)}")
    lines += [f'set "{each.path}" = {_value(each.value)}' for each in scenario.settings]
    for location in scenario.locations:
        place = f"{location.offset:#x}"
        if location.base is not None:
            place = f"{location.base} + {location.offset}"
        lines.append(f"{location.name} = {place}")
    return lines


def _value(value: syntax.Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        fields = ", ".join(f'"{name}" = {_value(each)}' for name, each in value.items())
        return f"{{{fields}}}"
    return f'"{value}"' if isinstance(value, str) else json.dumps(value)


def _table(scenario: syntax.Scenario) -> list[str]:
    heads = [
        column.name
        + (f" = {column.agent}" if column.agent is not None else "")
        + _position(column.position)
        for column in scenario.columns
    ]
    rows = [[""] * len(heads) for _ in scenario.rows]
    for cells, row in zip(rows, scenario.rows):
        for step in row:
            cells[step.column] = operation_text(step.operation)
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    return [_row(heads, widths), *(_row(cells, widths) for cells in rows)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _position(position: syntax.Position | None) -> str:
    if position is None:
        return ""
    if position.cpu is not None:
        return f" @ cpu {position.cpu}"
    parts = [f"group {position.group}"]
    parts += [f"wave {position.wave}"] * (position.wave > 0)
    parts += [f"lane {position.lane}"] * (position.lane > 0)
    parts += [f"unit {position.unit}"] * (position.unit is not None)
    return f" @ {', '.join(parts)}"


def _order(order: syntax.Order | None) -> str:
    return "" if order is None else " ".join(filter(None, [order.word, order.scope]))


def operation_text(operation: syntax.Operation) -> str:
    """What a cell says."""
    if isinstance(operation, syntax.Access | syntax.Fence) and operation.when is not None:
        guard = f"if {operation.when.register} = {number(operation.when.value)}: "
        lane, colon, rest = _unguarded(operation).partition(": ")
        return f"{lane}: {guard}{rest}" if colon else guard + lane
    return _unguarded(operation)


def _unguarded(operation: syntax.Operation) -> str:
    match operation:
        case syntax.Fence(order=order, space=space):
            return " ".join(filter(None, ["fence", _order(order), space]))
        case syntax.Mark(word=word):
            return word
        case syntax.After(thread=thread, count=count):
            if count is None:
                return f"after {thread}"
            return f"after {thread}, {count} episode{'s' if count > 1 else ''}"
        case syntax.Add(words=words, scopes=scopes):
            each = [f"lane {lane} {place}" if lane else str(place) for lane, place in words]
            return " ".join([f"add 1 to {', '.join(each)}", *_in_order(scopes)])
        case syntax.Load(place=place, result=result):
            text = f"load {place}{_result(result)}"
        case syntax.Store(place=place, value=value, register=name):
            text = f"store {place} = {name or number(value)}"
        case syntax.Atomic(operation=name, place=place, operand=operand, compare=compare):
            condition = "" if compare is None else f" if {number(compare)}"
            shown = operation.register or number(operand)
            text = f"atomic {name} {place} {shown}{condition}{_result(operation.result)}"
    assert isinstance(operation, syntax.Load | syntax.Store | syntax.Atomic)
    size = "" if operation.size is None else f"({operation.size} byte{'s' * (operation.size > 1)})"
    lane = f"{'with ' * operation.joins}lane {operation.lane}: "
    shown = lane if operation.lane or operation.joins else ""
    return shown + " ".join(
        filter(None, [text, size, *_in_order(operation.scopes), _order(operation.order)])
    )


def _result(result: syntax.Result | None) -> str:
    if result is None:
        return ""
    if result.register is not None:
        return f" -> {result.register}"
    return " -> initial" if result.value is None else f" -> {number(result.value)}"


def _in_order(scopes: frozenset[str]) -> list[str]:
    return [name for name in _SCOPES if name in scopes]
