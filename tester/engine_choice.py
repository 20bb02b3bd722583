"""What a command line may ask of the engines; apart, so that `--help` imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum


class Train(StrEnum):
    """Whether native code is compiled once more, with what was seen of it at work: ``auto``: beside
    a long run; ``first``: before the first leg; ``never``: nor is used what was made so."""

    auto = "auto"
    first = "first"
    never = "never"


class Choice(StrEnum):
    """``auto``: the native engine where it is possible, else the Python one."""

    auto = "auto"
    python = "python"
    native = "native"
