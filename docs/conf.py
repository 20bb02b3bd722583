"""The documentation as a site: ``python -m sphinx docs site`` (needs the extra ``docs``).

The pages stay readable on their own, where links lead to files of the repository; on the site
such a link is the name of the file.
"""

from __future__ import annotations

import re
from importlib import import_module, metadata
from pathlib import Path

from pygments.lexers.c_cpp import CLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "slicc and gpu-tester"
release = metadata.version("slicc")
author = "the authors of slicc"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["site", "editors/vscode"]
html_theme = "furo"
html_title = project
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_preserve_defaults = True
suppress_warnings = ["myst.header"]

for package in ("slicc", "protocols", "runtime", "tester", "gpu"):
    # They import a public name when it is first used; autodoc lists those that are there.
    module = import_module(package)
    vars(module).update((name, getattr(module, name)) for name in module.__all__)

_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)#]*)(#[^)]*)?\)")


def _without_repository_links(app: Sphinx, name: str, text: list[str]) -> None:
    """Files outside of the documentation are named, not linked."""

    def named(link: re.Match[str]) -> str:
        return link[1] if (Path(app.srcdir) / link[2]).resolve().exists() else link[0]

    text[0] = _LINK.sub(named, text[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_lexer("slicc", CLexer)
    app.add_lexer("litmus", TextLexer)
    app.connect("source-read", _without_repository_links)
