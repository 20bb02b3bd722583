"""Device memory as numpy arrays.

Invariant: a buffer is copied from and to the device on request, never shared with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gpu.errors import HostError
from gpu.hsa.host_memory import Host

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """An allocation with the shape and type of an array."""

    host: Host
    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def numpy(self) -> Array:
        """What is there now, as a coherent reader sees it."""
        data = self.host.read(self.address, self.size) if self.size else b""
        return np.frombuffer(data, self.dtype).reshape(self.shape).copy()

    def write(self, values: npt.ArrayLike) -> None:
        """Overwrite all of it. Raises HostError for another shape, or no values of the type."""
        try:
            array = np.ascontiguousarray(values, self.dtype)
        except (TypeError, ValueError) as error:
            raise HostError(f"the values cannot be made {self.dtype}: {error}") from None
        if array.shape != self.shape:
            raise HostError(f"the buffer has the shape {self.shape}, not {array.shape}")
        if self.size:
            self.host.write(self.address, array.tobytes())
