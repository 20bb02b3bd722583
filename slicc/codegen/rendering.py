"""Templates of the backends, laid out.

Invariant: a template that names what its view does not have is an error, never a blank.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def render(package: str, template: str, *, escape: bool = False, **values: object) -> str:
    """A template beside the modules of ``package``; ``escape``: it writes HTML."""
    return _environment(package, escape).get_template(template).render(values)


@cache
def _environment(package: str, escape: bool) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=escape,
    )
