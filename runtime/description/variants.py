"""What the variants of a description set (`[[variant]]`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from runtime.controller.protocol_info import ProtocolInfo
from runtime.description.inference import complete
from runtime.description.origin import DescriptionError
from runtime.description.parts import VariantDescription
from runtime.description.schema import SystemDescription


def assignments(
    variants: Iterable[VariantDescription], protocol: ProtocolInfo, whole: SystemDescription
) -> dict[str, object]:
    """Assignments for a description that is completed as `whole`, without machines that it has not
    and parameters that the protocol does not declare."""
    found: dict[str, object] = {}
    for variant in variants:
        for path, value in variant.set.items():
            kind, _, rest = path.partition(".")
            group, _, field = rest.partition(".")
            if kind == "machine":
                if group not in whole.machines:
                    continue
                parameter = field.removeprefix("parameters.")
                machine = protocol.machine(whole.machines[group].of or group)
                declared = (each.name for each in machine.PARAMETERS)
                if parameter != field and parameter not in declared:
                    continue
            found[path] = value
    return found


def in_force(
    variants: Sequence[VariantDescription],
    protocol: ProtocolInfo,
    whole: SystemDescription,
    built: SystemDescription,
) -> list[VariantDescription]:
    """The variants that a system has: nothing else overruled what they set."""
    if not variants:  # to_dict is slow
        return []
    fields = built.to_dict()
    return [
        variant
        for variant in variants
        if all(
            _at(fields, path) == (list(value) if isinstance(value, tuple) else value)
            for path, value in assignments([variant], protocol, whole).items()
        )
    ]


def _at(fields: Any, path: str) -> Any:
    for part in path.split("."):
        fields = fields[part]
    return fields


def check(written: SystemDescription, whole: SystemDescription, protocol: ProtocolInfo) -> None:
    """Build each variant alone. Raises DescriptionError, with the place of the variant.

    ``whole``: what ``written`` is completed to.
    """
    plain = replace(written, variants=(), defects=())
    for index, variant in enumerate(written.variants):
        try:
            complete(plain.override(assignments([variant], protocol, whole)), protocol)
        except DescriptionError as error:
            path = ("variant", index, "set", error.field)
            value = variant.set.get(error.field)
            raise written.origin.error(path, value, error.message) from None
