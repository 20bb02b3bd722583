"""Errors for packages that cannot be generated, with messages for the user."""

from __future__ import annotations

from pathlib import Path


class GenerationError(Exception):
    """Nothing was written; the message gives the cause and, where possible, a remedy."""


class NotInRuntime(GenerationError):
    """A class or function that the language knows and the Python runtime does not offer."""

    def __init__(self, name: str, user: str = "the protocol") -> None:
        super().__init__(f"the Python runtime has no `{name}`, which {user} uses")
        self.name = name


class NotOurPackage(GenerationError):
    """The target exists and is not a generated package."""

    def __init__(self, target: Path, reason: str) -> None:
        super().__init__(
            f"{target} exists and is not a generated package ({reason}); "
            "move it away or choose another output directory"
        )
        self.target = target
