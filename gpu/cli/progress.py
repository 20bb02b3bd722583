"""A line on a terminal while a kernel runs; nothing elsewhere.

A thread of its own looks at counters of the device, so that the run is the same with it and
without it. Invariant: progress goes to stderr and leaves nothing behind.
"""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

from gpu.bare_device import BareDevice
from gpu.cli.counters import work_of

_EVERY_SECONDS = 0.25


class Progress:
    """A context manager."""

    def __init__(self, device: BareDevice, wanted: bool) -> None:
        self._device = device
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        if wanted and sys.stderr.isatty():
            self._thread = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()

    def _tell(self) -> None:
        started, width = time.monotonic(), 0
        while not self._over.wait(_EVERY_SECONDS):
            work = work_of(self._device)
            rate = work.instructions / max(1e-9, time.monotonic() - started)
            line = f"{work} ({rate:,.0f}/s), tick {self._device.now:,}"
            width = max(width, len(line))
            sys.stderr.write("\r" + line.ljust(width))
            sys.stderr.flush()
        if width:
            sys.stderr.write("\r" + " " * width + "\r")
            sys.stderr.flush()
