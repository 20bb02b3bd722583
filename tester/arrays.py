"""Names for the types of arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
ByteArray = npt.NDArray[np.uint8]
WordArray = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]
