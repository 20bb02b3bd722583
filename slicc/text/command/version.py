"""The option ``--version``, the same for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def installed_version() -> str:
    """The version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slicc")
    except PackageNotFoundError:
        return "source"


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
