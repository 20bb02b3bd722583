"""Processors by their number in an ELF header, and target ids.

Source: LLVM "User Guide for AMDGPU Backend", "EF_AMDGPU_MACH Values" and "Target ID".
"""

from __future__ import annotations

from typing import Final

from gpu.generation import Generation
from slicc.text.lazy_dataclass import dataclass

RUNNABLE: Final = {"gfx803": Generation.GFX8, "gfx900": Generation.GFX9}
"""The processors whose instructions the model executes."""
WITH_XNACK: Final = frozenset({"gfx900"})
"""Those of them that may replay memory instructions: code for it runs, nothing is replayed."""
_LIKE: Final = {
    "gfx803": "gfx801 gfx802 gfx805 gfx810",
    "gfx900": "gfx902 gfx904 gfx906 gfx908 gfx909 gfx90c gfx9-generic",
}
"""Processors with the same instructions, and perhaps more; in gfx90a, bits mean other things."""
DEFAULT_PROCESSOR: Final = "gfx803"
"""What is compiled for where nothing else is asked for."""

_GENERATIONS: Final = {
    0x20: "gfx600 gfx601 gfx700 gfx701 gfx702 gfx703 gfx704",
    0x28: "gfx801 gfx802 gfx803 gfx810 gfx900 gfx902 gfx904 gfx906",
    0x30: "gfx908 gfx909 gfx90c gfx1010 gfx1011 gfx1012 gfx1030 gfx1031",
    0x38: "gfx1032 gfx1033 gfx602 gfx705 gfx805 gfx1035 gfx1034 gfx90a",
    0x41: "gfx1100 gfx1013 gfx1150 gfx1103 gfx1036 gfx1101 gfx1102 gfx1200 gfx1250 gfx1151",
    0x4C: "gfx942",
    0x4E: "gfx1201 gfx950",
    0x51: "gfx9-generic gfx10-1-generic gfx10-3-generic gfx11-generic gfx1152",
    0x58: "gfx1153 gfx12-generic",
    0x5F: "gfx9-4-generic",
}

PROCESSORS: Final[dict[int, str]] = {
    first + index: name
    for first, names in _GENERATIONS.items()
    for index, name in enumerate(names.split())
}
"""Name by ``EF_AMDGPU_MACH``."""

_SETTINGS: Final = (None, "any", "off", "on")
_VERSION_2: Final = {
    # Stepping is printed in hexadecimal; what version 2 calls 8:0:0 and 8:0:4 are the same parts
    # as 8:0:1 and 8:0:3.
    (8, 0, 0): "gfx801",
    (8, 0, 4): "gfx803",
}
_WITH_XNACK_IN_VERSION_2: Final = (1, 3, 5, 7)
"""Steppings of 9:0 that mean the processor one below, with xnack."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a code object was compiled for.

    ``xnack``, ``sramecc``: ``"any"``, ``"off"``, ``"on"``, or None where the processor has no
    such thing.
    """

    processor: str
    xnack: str | None = None
    sramecc: str | None = None

    def __str__(self) -> str:
        """As a target id: ``amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-``."""
        features = [("sramecc", self.sramecc), ("xnack", self.xnack)]
        marks = {"on": "+", "off": "-"}
        return f"amdgcn-amd-amdhsa--{self.processor}" + "".join(
            f":{name}{marks[setting]}" for name, setting in features if setting in marks
        )


def generation_of(processor: str) -> Generation | None:
    """Whose instructions the code for a processor is made of; None if they are not known."""
    like = next((ours for ours, others in _LIKE.items() if processor in others.split()), processor)
    return RUNNABLE.get(like)


def target_of_flags(flags: int, abi_version: int) -> Target:
    """The target in ``e_flags`` of an object of version 3 (ABI version 1) or later.

    An unknown number gives a processor ``unknown 0x..``.
    """
    number = flags & 0xFF
    processor = PROCESSORS.get(number, f"unknown {number:#x}")
    if abi_version == 1:
        return Target(processor, "on" if flags & 0x100 else None, "on" if flags & 0x200 else None)
    return Target(processor, _SETTINGS[flags >> 8 & 3], _SETTINGS[flags >> 10 & 3])


def target_of_isa_version(major: int, minor: int, stepping: int) -> Target:
    """The target of a version 2 note ``AMD:AMDGPU:major:minor:stepping``."""
    if (major, minor) == (9, 0) and stepping in _WITH_XNACK_IN_VERSION_2:
        return Target(f"gfx90{stepping - 1}", xnack="on")
    name = _VERSION_2.get((major, minor, stepping), f"gfx{major}{minor}{stepping:x}")
    return Target(name if name in PROCESSORS.values() else f"unknown {major}:{minor}:{stepping}")
