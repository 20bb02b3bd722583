"""Data-race-free random programs, the engine that issues them and the checker that judges.

The names below are the interface for programs; ``docs/python-api.md`` shows them at work.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; importing typing takes longer than the rest

__all__ = [
    "ConfigError",
    "Finding",
    "Leg",
    "Program",
    "ReplayError",
    "Request",
    "Result",
    "Verdict",
    "Watcher",
    "draw",
    "generate",
    "load_leg",
    "load_trace",
    "replay",
    "run",
    "save_leg",
]

if TYPE_CHECKING:
    from tester.campaign.run import Result, generate, load_trace, replay, run
    from tester.campaign.watcher import Watcher
    from tester.errors import ConfigError
    from tester.execution.events import Finding, Request, Verdict
    from tester.program.program import Program
    from tester.program.replay_file import Leg, ReplayError, load_leg, save_leg
    from tester.shrink.leg_page import draw
else:
    _HOMES = {
        "ConfigError": "tester.errors",
        "Finding": "tester.execution.events",
        "Leg": "tester.program.replay_file",
        "Program": "tester.program.program",
        "ReplayError": "tester.program.replay_file",
        "Request": "tester.execution.events",
        "Result": "tester.campaign.run",
        "Verdict": "tester.execution.events",
        "Watcher": "tester.campaign.watcher",
        "draw": "tester.shrink.leg_page",
        "generate": "tester.campaign.run",
        "load_leg": "tester.program.replay_file",
        "load_trace": "tester.campaign.run",
        "replay": "tester.campaign.run",
        "run": "tester.campaign.run",
        "save_leg": "tester.program.replay_file",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: most programs need only a part."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
