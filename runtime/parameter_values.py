"""The scalar parameters of a machine: given, inferred or defaulted, and always checked.

Invariant: every declared and inherited scalar has a value of its type and within its bounds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from runtime.declarations import Parameter
from runtime.description import MAX_LATENCY, Scalar
from runtime.description_text import Origin, unknown_name

INHERITED: Final[Mapping[str, Parameter]] = {
    parameter.name: parameter
    for parameter in (
        Parameter("transitions_per_cycle", "int", 32),
        Parameter("recycle_latency", "Cycles", 10),
        Parameter("number_of_TBEs", "int", 256),
        Parameter("mandatory_queue_latency", "Cycles", 1),
        Parameter("cluster_id", "int", 0),
    )
}
"""What every machine has besides its own parameters."""

MAX_TBES: Final = 1 << 20

_BANKS = re.compile(r"(\w+)_select_(num_bits|low_bit)")
_RANGES: Final = {
    "int": (-(1 << 31), (1 << 31) - 1),
    "uint32_t": (0, (1 << 32) - 1),
    "uint64_t": (0, (1 << 64) - 1),
    "Cycles": (0, MAX_LATENCY),
    "Tick": (0, MAX_LATENCY),
    "Addr": (0, (1 << 64) - 1),
    "NodeID": (0, (1 << 32) - 1),
}


class ParameterValues:
    """``counts``: instances by machine, complete before :meth:`of` is asked."""

    def __init__(self, origin: Origin, counts: Mapping[str, int], line_bits: int) -> None:
        self.origin = origin
        self.counts = counts
        self.line_bits = line_bits

    def of(
        self,
        machine: str,
        scalars: Mapping[str, Parameter],
        objects: Mapping[str, str],
        given: Mapping[str, Scalar],
    ) -> dict[str, Scalar]:
        """The values by name. ``objects``: classes of the machine's other parameters."""
        known = {**INHERITED, **scalars}
        for said, what in given.items():
            path = ("machine", machine, "parameters", said)
            if said in objects:
                raise self.origin.error(path, what, f"is a {objects[said]}, not a number")
            if said not in known:
                message = unknown_name(f"parameter of machine {machine}", said, list(known))
                raise self.origin.error(path, what, message)
        values = {}
        missing = []
        for name, parameter in known.items():
            value = given.get(name)
            if value is None:
                value = self._inferred(machine, parameter)
            if value is None:
                missing.append(f"`{name}` ({parameter.type})")
            else:
                values[name] = self._checked(machine, parameter, value)
        if missing:
            raise self.origin.error(
                ("machine", machine, "parameters"),
                None,
                f"machine {machine} has no default for {', '.join(missing)}; "
                f"say it under [machine.{machine}.parameters]",
            )
        return values

    def _inferred(self, machine: str, parameter: Parameter) -> Scalar | None:
        found = _BANKS.fullmatch(parameter.name)
        if found is not None:
            wanted = (found[1].lower(), found[1].lower() + "cache")
            for name, count in self.counts.items():
                if name.lower() in wanted:
                    return self._bank_bits(machine, parameter, name, count, found[2])
            if parameter.default is None:
                return 0 if found[2] == "num_bits" else self.line_bits
        if parameter.default is not None:
            default: Scalar = parameter.default
            return default
        return False if parameter.type == "bool" else None

    def _bank_bits(
        self, machine: str, parameter: Parameter, banked: str, count: int, what: str
    ) -> int:
        if what == "low_bit":
            return self.line_bits
        if count & (count - 1):
            raise self.origin.error(
                ("machine", banked, "count"),
                count,
                f"must be a power of two, because {machine}.{parameter.name} is its logarithm",
            )
        return max(0, count.bit_length() - 1)

    def _checked(self, machine: str, parameter: Parameter, value: Scalar) -> Scalar:
        path = ("machine", machine, "parameters", parameter.name)
        kind = parameter.type
        if kind == "bool":
            if not isinstance(value, bool):
                raise self.origin.error(path, value, "expected true or false")
        elif kind == "std::string":
            if not isinstance(value, str):
                raise self.origin.error(path, value, "expected a string")
        elif isinstance(value, bool) or not isinstance(value, int):
            raise self.origin.error(path, value, f"expected an integer ({kind})")
        else:
            low, high = _RANGES.get(kind, (-(1 << 63), (1 << 64) - 1))
            if parameter.name == "number_of_TBEs":
                low, high = 1, MAX_TBES
            elif parameter.name == "transitions_per_cycle":
                low = 1
            if not low <= value <= high:
                raise self.origin.error(path, value, f"must be between {low} and {high}")
        return value
