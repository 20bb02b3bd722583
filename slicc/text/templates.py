"""Templates of code and pages, laid out.

Compiling a template takes ten times as long as filling it in, so its code is kept between runs.
Invariant: a template that names what its view does not have is an error, never a blank; kept code
was compiled from the same text, with the same options, by the same versions.
"""

from __future__ import annotations

import hashlib
import marshal
import sys
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER
from typing import TYPE_CHECKING, Any, Final

from slicc.text.kept import private_files

if TYPE_CHECKING:
    from jinja2 import Environment

_LAYOUT: Final[dict[str, Any]] = {
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}


def render(package: str, template: str, *, escape: bool = False, **values: object) -> str:
    """A template beside the modules of ``package``; ``escape``: it writes HTML."""
    return _environment(package, escape).get_template(template).render(values)


@cache
def _environment(package: str, escape: bool) -> Environment:
    from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, __version__
    from jinja2.bccache import Bucket

    class Kept(BytecodeCache):
        """One file for each template; it begins with what its code was made from."""

        def load_bytecode(self, bucket: Bucket) -> None:
            key, kept = self._key(bucket), private_files.load(self._name(bucket))
            if kept is not None and kept.startswith(key):
                with suppress(EOFError, ValueError, TypeError):
                    bucket.code = marshal.loads(kept[len(key) :])

        def dump_bytecode(self, bucket: Bucket) -> None:
            if bucket.code is not None:
                code = self._key(bucket) + marshal.dumps(bucket.code)
                private_files.store(self._name(bucket), code)

        def _name(self, bucket: Bucket) -> str:
            return f"template-{bucket.key}.code"

        def _key(self, bucket: Bucket) -> bytes:
            python = f"{sys.implementation.cache_tag} {MAGIC_NUMBER.hex()} {sys.flags.optimize}"
            made_from = (__version__, python, repr(_LAYOUT), str(escape), bucket.checksum)
            return hashlib.sha256("\0".join(made_from).encode()).digest()

    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        autoescape=escape,
        bytecode_cache=Kept(),
        **_LAYOUT,
    )
