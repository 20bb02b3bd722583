"""What a command line may ask of the engines; apart, so that `--help` imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum


class Choice(StrEnum):
    """``auto``: the native engine where it is possible, else the Python one."""

    auto = "auto"
    python = "python"
    native = "native"
