"""A system as a value: its schema, its TOML, and what is inferred where it leaves something out."""

from runtime.description.origin import DescriptionError
from runtime.description.parts import (
    DELAYS,
    MAX_ENTRIES,
    MAX_LANES,
    MAX_LATENCY,
    AgentsDescription,
    BufferDescription,
    CacheDescription,
    DefectDescription,
    DelayedMessage,
    DerivedParameter,
    HandoverDescription,
    MachineDescription,
    MemoryDescription,
    NetworkDescription,
    RequesterDescription,
    Scalar,
    VariantDescription,
)
from runtime.description.schema import SystemDescription, load_description, parse_assignment

__all__ = [
    "DELAYS",
    "MAX_ENTRIES",
    "MAX_LANES",
    "MAX_LATENCY",
    "AgentsDescription",
    "BufferDescription",
    "CacheDescription",
    "DefectDescription",
    "DelayedMessage",
    "DerivedParameter",
    "DescriptionError",
    "HandoverDescription",
    "MachineDescription",
    "MemoryDescription",
    "NetworkDescription",
    "RequesterDescription",
    "Scalar",
    "SystemDescription",
    "VariantDescription",
    "load_description",
    "parse_assignment",
]
