"""What a command line asked to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Request:
    """One call of ``gcn run``, as written."""

    file: Path
    kernel: str
    grid: str
    group: str = ""
    arguments: tuple[str, ...] = ()
    expectations: tuple[str, ...] = ()
    scratch: int | None = None
    limit: int | None = None
    tolerance: float = 0.0
    saves: tuple[str, ...] = ()
    functional: bool = False
    protocol: str | None = None
    cus: int = 4
    tccs: int = 2
    seed: int = 1
    engine: str = "auto"
    system: Path | None = None
    assignments: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    stats: Path | None = None
    record: Path | None = None
    quiet: bool = False
    progress: bool = True
