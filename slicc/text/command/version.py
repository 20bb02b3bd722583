"""The option ``--version``, the same for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VERSION = "0.1.0"
"""What the package is built as; asking its metadata takes every command 15 ms."""


def installed_version() -> str:
    """The version of the installed package."""
    return VERSION


def version_option(command: str, **more: Any) -> Any:
    """The option; it takes effect before any other option is read."""
    import typer

    return typer.Option(
        "--version", is_eager=True, callback=_printer(command), help="Print the version.", **more
    )


def _printer(command: str) -> Callable[[bool], None]:
    def show(wanted: bool) -> None:
        import typer

        if wanted:
            print(f"{command} {installed_version()}")
            raise typer.Exit

    return show
