"""A line on a terminal while a kernel runs; nothing elsewhere.

A thread of its own looks at counters of the device, so that the run is the same with it and
without it. Invariant: progress goes to stderr and leaves nothing behind.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext

from gpu.cli.run.counters import work_of
from gpu.host.device_core import BareDevice
from slicc.text.terminal import own


def progress(device: BareDevice, wanted: bool) -> AbstractContextManager[object]:
    """Shown until the context ends."""
    if not (wanted and sys.stderr.isatty()):
        return nullcontext()
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    started = time.monotonic()

    def line() -> Text:
        work = work_of(device)
        rate = work.instructions / max(1e-9, time.monotonic() - started)
        return Text(f"{work} ({rate:,.0f}/s), tick {device.now:,}", overflow="ellipsis")

    return Live(get_renderable=line, console=Console(file=own(sys.stderr)), transient=True)
