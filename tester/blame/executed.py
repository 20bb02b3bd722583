"""Which lines of a protocol a leg executes, as its generated controllers see it.

Invariant: the run is that of the Python engine; nothing is left of it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from protocols.loader import LoadedProtocol
from runtime.errors import source_location
from runtime.system.builder import build_system
from tester.campaign.campaign import leg_run
from tester.program.replay_file import Leg

_Trace = Callable[[FrameType, str, Any], Any]


def executed_lines(leg: Leg, protocol: LoadedProtocol) -> Counter[str]:
    """How often each is: ``MI-cache.sm:271``."""
    files = {Path(sys.modules[each.__module__].__file__ or "") for each in protocol.info.machines}
    packages = tuple(str(file.parent) for file in files)
    found: Counter[tuple[str, int]] = Counter()

    def line(frame: FrameType, event: str, _: object) -> _Trace:
        if event == "line":
            found[frame.f_code.co_filename, frame.f_lineno] += 1
        return line

    def call(frame: FrameType, _event: str, _: object) -> _Trace | None:
        return line if frame.f_code.co_filename.startswith(packages) else None

    run = leg_run(leg, build_system(protocol.info, leg.description, leg.run_key))
    before = sys.gettrace()
    sys.settrace(call)
    try:
        run.run()
    finally:
        sys.settrace(before)
    lines: Counter[str] = Counter()
    for (file, number), often in found.items():
        place = source_location(Path(file), number)
        lines[place] = max(lines[place], often)
    return lines
