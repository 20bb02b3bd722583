"""The options of each verb of ``gcn`` but ``run``; see `slicc.text.command.options`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from gpu.device_limits import BANKS, why_not_banks
from gpu.wave_size import LANES
from slicc.text.command.options import argument, between, integer, option
from slicc.text.lazy_dataclass import dataclass


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


class Engine(StrEnum):
    """The values of `gpu.memory.coherent.factory.EngineChoice`."""

    PYTHON = "python"
    NATIVE = "native"
    AUTO = "auto"


BUILD_OPTION: Final = "--build-option"
_source = partial(option, section="OpenCL C")


def with_build_options(arguments: Sequence[str]) -> list[str]:
    """The arguments, with options of OpenCL's compiler as values of ours."""
    return [
        f"{BUILD_OPTION}={word}" if word.startswith("-cl-") and before != BUILD_OPTION else word
        for before, word in zip(["", *arguments], arguments)
    ]


def _build_option(text: str) -> str:
    if not text.startswith("-cl-"):
        raise ValueError(f"{text!r} is no option of OpenCL's compiler: they begin with -cl-")
    return text


def _processor(text: str) -> str:
    from gpu.code_object.targets import RUNNABLE  # reads much that other verbs do without

    if text not in RUNNABLE:
        raise ValueError(f"{text!r} does not run here; {' and '.join(RUNNABLE)} do")
    return text


def _instances(text: str) -> int:
    count = between(1, LANES)(text)
    if count & (count - 1):
        raise ValueError(f"{count} is no power of two")
    return count


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """How OpenCL C is compiled, if a verb is given some."""

    define: tuple[str, ...] = _source(
        (), "A macro of the source. Repeatable.", "--define", "-D", metavar="NAME[=VALUE]"
    )
    include: tuple[Path, ...] = _source(
        (), "Where its included files may lie. Repeatable.", "--include", "-I", metavar="DIR"
    )
    build: tuple[str, ...] = _source(
        (),
        "An option of OpenCL's compiler, which may be written by itself: -cl-fast-relaxed-math. "
        "Repeatable.",
        BUILD_OPTION,
        metavar="-cl-OPTION",
        read=_build_option,
    )
    target: str | None = _source(
        None,
        "The processor to compile for: gfx803 or gfx900 (gfx803).",
        metavar="PROCESSOR",
        read=_processor,
    )
    device_libs: Path | None = _source(
        None, "Bitcode of OpenCL's functions (where it is installed).", metavar="DIR"
    )

    @property
    def source_options(self) -> tuple[str, ...]:
        """The options of a source, as clang takes them."""
        return (
            *(f"-D{text}" for text in self.define),
            *(f"-I{folder}" for folder in self.include),
            *self.build,
        )


@dataclass(frozen=True, kw_only=True)
class FileOptions(SourceOptions):
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
class CoreOptions:
    """``gcn core``."""

    file: Path = argument("A core file of a device.", "FILE")


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """``gcn replay``."""

    file: Path = argument("The output of gcn run --record, or a leg of gpu-tester.", "FILE")
    engine: Engine = option(
        Engine.AUTO, "What runs the caches, as for gcn run.", shows_default=True
    )
    seed: int | None = option(None, "Another one than was recorded.", metavar="N", read=between(0))
    tccs: int | None = option(
        None,
        "Other banks than were recorded.",
        metavar="|".join(map(str, BANKS)),
        read=integer(why_not_banks),
    )
    include: tuple[Path, ...] = option(
        (),
        "Where files may lie that the recording names, besides the working directory.",
        *("--include", "-I"),
        metavar="DIR",
    )


@dataclass(frozen=True, kw_only=True)
class LitmusOptions:
    """``gcn litmus``"""

    tests: tuple[str, ...] = argument(
        "Names of shipped tests, or files that end in .litmus; none: all that are shipped.",
        "NAME|FILE",
        (),
    )
    runs: int = option(
        100,
        "Runs of each test.",
        metavar="1..1000000",
        read=between(1, 1_000_000),
        shows_default=True,
    )
    instances: int | None = option(
        None,
        "Runs in one launch, a power of two [as many as leave 100 launches].",
        metavar="1..64",
        read=_instances,
    )
    seed: int = option(
        1, "Draws the situations of the runs.", metavar="N", read=between(0), shows_default=True
    )
    jobs: int = option(
        1, "Processes that run.", metavar="1..256", read=between(1, 256), shows_default=True
    )
    target: str | None = option(
        None, "The processor that the kernels are for [gfx803].", metavar="NAME", read=_processor
    )
    engine: Engine = option(Engine.AUTO, "What runs the caches.", shows_default=True)
    mutate: bool = option(
        False, "Leave out each wait, invalidation and bit in turn, and say which of them shows."
    )
    show: Path | None = option(
        None,
        "Draw the messages of each weak, undefined or refused outcome, as SVG files in DIR.",
        metavar="DIR",
    )
    list_: bool = option(False, "List the shipped tests, and run none.", "--list")
