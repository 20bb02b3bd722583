"""What the vector instructions do, as functions over the lanes of a wave.

``SEMANTICS`` holds every arithmetic mnemonic (without the encoding's suffix). Its functions know
nothing of registers, EXEC or encodings: `gpu.isa.binding` brings operands in the declared types
(with neg and abs applied), has the host's floating-point environment set as the entry names it, and
writes results under EXEC. `entry.Semantics` states the convention, `modifiers`, `lanes` and
`sub_dword` hold what the encodings add: neg, abs, omod, clamp; DPP and lane permutations; SDWA.

Source of all meanings: the public GCN3 instruction set architecture manual, chapter "Vector ALU
operations"; docs/gpu-isa-semantics.md says where it leaves room and what we chose.
"""

from typing import Final

from gpu.isa import host_float
from gpu.isa.semantics import (
    arithmetic,
    bits,
    compare,
    conversions,
    division,
    extremes,
    integer,
    rounding,
    sums,
    transcendental,
)
from gpu.isa.semantics.entry import Environment, Semantics
from gpu.isa.semantics.portable import portable

_MEANINGS: Final[dict[str, Semantics]] = {
    **integer.SEMANTICS,
    **bits.SEMANTICS,
    **arithmetic.SEMANTICS,
    **extremes.SEMANTICS,
    **compare.SEMANTICS,
    **conversions.SEMANTICS,
    **rounding.SEMANTICS,
    **transcendental.SEMANTICS,
    **division.SEMANTICS,
    **sums.SEMANTICS,
}
SEMANTICS: Final = _MEANINGS if host_float.AVAILABLE else portable(_MEANINGS)

__all__ = ["SEMANTICS", "Environment", "Semantics"]
