"""Arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A code object, or OpenCL C (.cl, .clcpp), which is compiled where a clang is found.",
        show_default=False,
    ),
]
KernelName = Annotated[str, typer.Argument(metavar="KERNEL", help="Its name.", show_default=False)]
