"""The scalar parameters of a machine: given, inferred or defaulted, and always checked.

Invariant: every declared and inherited scalar has a value of its type and within its bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from runtime.controller.declarations import Parameter
from runtime.description import MAX_LATENCY, DerivedParameter, MachineDescription, Scalar
from runtime.description.origin import MissingParameters, Origin, dotted, unknown_name

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


def _placeholder(parameter: Parameter) -> str | int:
    """A value that the type allows, to be replaced."""
    return "" if parameter.type == "std::string" else 0


@lru_cache(1 << 10)
def _banks(name: str) -> re.Match[str] | None:
    """What a parameter of that name counts or finds, if it is about banks."""
    return _BANKS.fullmatch(name)


def banked_machine(name: str, machines: Iterable[str]) -> str | None:
    """The machine whose banks a parameter of that name counts or finds: ``l2_select_num_bits``."""
    found = _banks(name)
    if found is not None:
        wanted = (found[1].lower(), found[1].lower() + "cache")
        for machine in machines:
            if machine.lower() in wanted:
                return machine
    return None


def _default(parameter: Parameter) -> Scalar | None:
    if parameter.default is not None:
        default: Scalar = parameter.default
        return default
    return False if parameter.type == "bool" else None


class Scalars:
    """What a machine declares and inherits."""

    def __init__(self, declared: Mapping[str, Parameter]) -> None:
        self.known: Final = {**INHERITED, **declared}
        self.usual: Final = {name: self._usual(each) for name, each in self.known.items()}
        """Defaults, which were checked once; None: of the others."""
        self.others: Final = [name for name, value in self.usual.items() if value is None]

    @staticmethod
    def _usual(parameter: Parameter) -> Scalar | None:
        default = _default(parameter)
        counts = _banks(parameter.name) is not None
        wrong = default is not None and _refusal(parameter, default) is not None
        return None if counts or wrong else default


class ParameterValues:
    """``counts``: instances by machine, complete before :meth:`of` is asked.

    ``machines``: the description of each; ``scalars``: what each declares.
    """

    def __init__(
        self,
        origin: Origin,
        counts: Mapping[str, int],
        line_bits: int,
        machines: Mapping[str, MachineDescription],
        scalars: Mapping[str, Scalars],
    ) -> None:
        self.origin = origin
        self.counts = counts
        self.line_bits = line_bits
        self.machines = machines
        self.scalars = scalars
        self.missing: dict[str, list[Parameter]] = {}
        """Parameters that must be given, by machine."""

    def of(self, machine: str, objects: Mapping[str, str]) -> dict[str, Scalar]:
        """The values by name. ``objects``: classes of the machine's other parameters."""
        known = self.scalars[machine].known
        described = self.machines.get(machine, MachineDescription())
        for table, names in (("parameters", described.parameters), ("derived", described.derived)):
            for name in names:
                if name in known and name not in objects:
                    continue
                path = ("machine", machine, table, name)
                what = described.parameters.get(name)
                if name in objects:
                    raise self.origin.error(path, what, f"is a {objects[name]}, not a number")
                message = unknown_name(f"parameter of machine {machine}", name, list(known))
                raise self.origin.error(path, what, message)
        values = self.scalars[machine].usual.copy()
        for name in (*described.derived, *self.scalars[machine].others, *described.parameters):
            value = described.parameters.get(name)
            if value is None and name in described.derived:
                value = self._derived(machine, name, described.derived[name])
            if value is None:
                value = self._inferred(machine, known[name])
            if value is not None:
                values[name] = self._checked(machine, known[name], value)
            elif self.counts[machine]:
                self.missing.setdefault(machine, []).append(known[name])
        return {name: value for name, value in values.items() if value is not None}

    def require(self) -> None:
        """Ask for everything that :meth:`of` has missed, at once. Raises MissingParameters."""
        if not self.missing:
            return
        placeholders = {
            f"machine.{machine}.parameters.{parameter.name}": _placeholder(parameter)
            for machine, parameters in self.missing.items()
            for parameter in parameters
        }
        stated = "; ".join(
            f"machine {machine} has no default for "
            + ", ".join(f"`{parameter.name}` ({parameter.type})" for parameter in parameters)
            for machine, parameters in self.missing.items()
        )
        tables = ", ".join(f"[machine.{machine}.parameters]" for machine in self.missing)
        each = " (one for each)" if len(placeholders) > 1 else ""
        option = f"--set {next(iter(placeholders))}=VALUE{each}"
        stated = f"{stated}; say it under {tables} of the description"
        path = ("machine", next(iter(self.missing)), "parameters")
        # What is missing was written by no option.
        file, line = Origin(self.origin.file, self.origin.text).place(path)
        error = MissingParameters(file, line, dotted(path), None, f"{stated} or with {option}")
        error.placeholders = placeholders
        error.stated = stated
        raise error

    def _derived(self, machine: str, name: str, derived: DerivedParameter) -> Scalar:
        path = ("machine", machine, "derived", name)
        if derived.count is not None:
            if derived.count not in self.counts:
                message = unknown_name("machine", derived.count, list(self.counts))
                raise self.origin.error((*path, "count"), derived.count, message)
            return self.counts[derived.count] * derived.times + derived.plus
        other, _, source = (derived.parameter or "").partition(".")
        place = (*path, "parameter")
        if other not in self.scalars:
            message = unknown_name("machine", other, list(self.scalars))
            raise self.origin.error(place, derived.parameter, message)
        known = self.scalars[other].known
        if source not in known:
            message = unknown_name(f"parameter of machine {other}", source, list(known))
            raise self.origin.error(place, derived.parameter, message)
        value = self.machines.get(other, MachineDescription()).parameters.get(source)
        if value is None:
            value = self._inferred(other, known[source])
        if value is None:
            raise self.origin.error(place, derived.parameter, "has no value itself")
        if isinstance(value, bool | str):
            return value
        return value * derived.times + derived.plus

    def _inferred(self, machine: str, parameter: Parameter) -> Scalar | None:
        found = _banks(parameter.name)
        if found is not None:
            banked = banked_machine(parameter.name, self.counts)
            if banked is not None:
                count = self.counts[banked]
                return self._bank_bits(machine, parameter, banked, count, found[2])
            if parameter.default is None:
                return 0 if found[2] == "num_bits" else self.line_bits
        return _default(parameter)

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
        refusal = _refusal(parameter, value)
        if refusal is not None:
            path = ("machine", machine, "parameters", parameter.name)
            raise self.origin.error(path, value, refusal)
        return value


def _refusal(parameter: Parameter, value: Scalar) -> str | None:
    """What is wrong with a value."""
    kind = parameter.type
    if kind == "bool":
        return None if isinstance(value, bool) else "expected true or false"
    if kind == "std::string":
        return None if isinstance(value, str) else "expected a string"
    if isinstance(value, bool) or not isinstance(value, int):
        return f"expected an integer ({kind})"
    low, high = _RANGES.get(kind, (-(1 << 63), (1 << 64) - 1))
    if parameter.name == "number_of_TBEs":
        low, high = 1, MAX_TBES
    elif parameter.name == "transitions_per_cycle":
        low = 1
    return None if low <= value <= high else f"must be between {low} and {high}"
