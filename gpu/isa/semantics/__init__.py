"""The semantics of vector instructions, as functions over the lanes of a wave.

``SEMANTICS`` holds every arithmetic mnemonic (without the encoding's suffix). Its functions do not
depend on registers, EXEC or encodings: `gpu.isa.execution.binder` brings operands in the declared
types (with neg and abs applied), has the host's floating-point environment set as the entry names
it, and writes results under EXEC. `entry.Semantics` states the convention, `modifiers`, `lanes` and
`sub_dword` hold what the encodings add: neg, abs, omod, clamp; DPP and lane permutations; SDWA.

Source of all meanings: the public GCN3 instruction set architecture manual, chapter "Vector ALU
operations"; docs/gpu-isa-semantics.md lists where it leaves room and the choices made here.
"""

from typing import Final

from gpu.isa import fp_environment
from gpu.isa.semantics import bits, compare, conversions, cube_faces, integer, sad
from gpu.isa.semantics.entry import Environment, Semantics
from gpu.isa.semantics.floating import arithmetic, division, min_max_med, rounding, transcendental
from gpu.isa.semantics.floating.soft_float_table import with_soft_float

_MEANINGS: Final[dict[str, Semantics]] = {
    **integer.SEMANTICS,
    **bits.SEMANTICS,
    **arithmetic.SEMANTICS,
    **min_max_med.SEMANTICS,
    **compare.SEMANTICS,
    **conversions.SEMANTICS,
    **rounding.SEMANTICS,
    **transcendental.SEMANTICS,
    **division.SEMANTICS,
    **sad.SEMANTICS,
    **cube_faces.SEMANTICS,
}
SEMANTICS: Final = _MEANINGS if fp_environment.AVAILABLE else with_soft_float(_MEANINGS)

__all__ = ["SEMANTICS", "Environment", "Semantics"]
