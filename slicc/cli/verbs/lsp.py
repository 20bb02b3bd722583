"""``slicc lsp``: the language server, on standard input and output."""

from __future__ import annotations

import logging
import sys

from slicc.cli.options import LspOptions
from slicc.text.command.exit_status import Stop
from slicc.text.terminal import own


def lsp(options: LspOptions) -> None:
    """Serve one editor until it ends."""
    try:
        from slicc.editor.server import new_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise Stop("the language server needs pygls: pip install 'slicc[editor]'") from None
    from slicc.text.command.version import installed_version

    for root in options.include:
        if not root.is_dir():
            raise Stop(f"cannot read from {root}: it is not a directory")
    for file in options.prelude:
        if not file.is_file():
            raise Stop(f"cannot read the prelude {file}: there is no such file")
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    server = new_server(installed_version(), options.include, options.prelude)
    try:
        server.start_io(sys.stdin.buffer, own(sys.stdout).buffer)
    finally:
        server.end()
