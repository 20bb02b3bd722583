"""The options of each verb of ``gcn`` but ``run``; see `slicc.text.command.options`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from slicc.text.command.options import argument, between, option


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


class Engine(StrEnum):
    """The values of `gpu.memory.coherent.factory.EngineChoice`."""

    PYTHON = "python"
    NATIVE = "native"
    AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The code object that a verb reads."""

    file: Path = argument(
        "A code object, or OpenCL C (.cl, .clcpp), which is compiled where a clang is found. Or "
        "vadd.co, which is shipped.",
        "FILE",
    )


@dataclass(frozen=True, kw_only=True)
class KernelOptions(FileOptions):
    """One kernel of a code object."""

    kernel: str = argument("Its name.", "KERNEL")


@dataclass(frozen=True, kw_only=True)
class InfoOptions(FileOptions):
    """``gcn info``."""

    format: Format = option(Format.TEXT, "For people or for programs.", shows_default=True)


@dataclass(frozen=True, kw_only=True)
class DisasmOptions(FileOptions):
    """``gcn disasm``."""

    kernel: str | None = option(None, "Only this one.", metavar="NAME")


@dataclass(frozen=True, kw_only=True)
class OccupancyOptions(KernelOptions):
    """``gcn occupancy``."""

    group: str = option("", "Work-items of a group.", metavar="X[,Y[,Z]]")
    local: int = option(
        0, "LDS beyond what the kernel declares.", metavar="BYTES", shows_default=True
    )


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """``gcn replay``."""

    file: Path = argument("The output of gcn run --record.", "FILE")
    engine: Engine = option(
        Engine.AUTO, "What runs the caches, as for gcn run.", shows_default=True
    )
    seed: int | None = option(None, "Another one than was recorded.", metavar="N", read=between(0))
    tccs: int | None = option(
        None, "Other banks than were recorded.", metavar="1..64", read=between(1, 64)
    )
    include: tuple[Path, ...] = option(
        (),
        "Where files may lie that the recording names, besides the working directory.",
        *("--include", "-I"),
        metavar="DIR",
    )
