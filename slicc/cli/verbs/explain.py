"""``slicc explain``: the page of a finding, or a list of all that there are."""

from __future__ import annotations

from slicc.cli.options import ExplainOptions
from slicc.diagnostics.registry import AREAS, CODES
from slicc.text.command.exit_status import Stop
from slicc.text.suggest import suggest


def explain(options: ExplainOptions) -> None:
    """Print the page; without a slug, the list."""
    if options.slug is None:
        _list()
        return
    name = options.slug.strip().removeprefix("error").removeprefix("warning").strip("[]: ")
    if name not in CODES:
        close = suggest(name, CODES)
        hint = f"did you mean `{close}`?" if close else "`slicc explain` lists all findings"
        raise Stop(f"there is no finding `{options.slug}`; {hint}")
    print(CODES[name].page, end="")


def _list() -> None:
    width = max(map(len, CODES))
    for area, codes in AREAS.items():
        print(f"{area}:")
        for code in codes:
            print(f"  {code.slug:{width}}  {code.title}")
