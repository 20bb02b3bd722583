"""What the runtime offers to protocols, declared as data.

Tables of compact text, one module per theme, read by :mod:`slicc.prelude.signature` only when a
protocol uses the name: importing the prelude costs almost nothing, and supporting one more
protocol means adding lines here.

Invariant: this package knows names and shapes, no types of ``slicc.ir`` and no syntax.
"""

from __future__ import annotations

from slicc.prelude.classes import CLASSES, ClassRow
from slicc.prelude.enumerations import ENUMERATIONS, EnumerationRow
from slicc.prelude.functions import FUNCTIONS, STATEMENT_FUNCTIONS, FunctionRow
from slicc.prelude.names import (
    CONTROLLER_VARIABLES,
    INHERITED_PARAMETERS,
    KNOWN_PAIR_KEYS,
    PROTOCOL_OPTIONS,
)
from slicc.prelude.signature import Flag, Home, Parameter, Signature, parse_signature
from slicc.prelude.structures import STRUCTURES, StructureRow

__all__ = [
    "CLASSES",
    "CONTROLLER_VARIABLES",
    "ENUMERATIONS",
    "FUNCTIONS",
    "INHERITED_PARAMETERS",
    "KNOWN_PAIR_KEYS",
    "PROTOCOL_OPTIONS",
    "STATEMENT_FUNCTIONS",
    "STRUCTURES",
    "ClassRow",
    "EnumerationRow",
    "Flag",
    "FunctionRow",
    "Home",
    "Parameter",
    "Signature",
    "StructureRow",
    "parse_signature",
]
