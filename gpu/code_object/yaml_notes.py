"""The YAML of version 2 code objects, read by PyYAML with the plain scalars of YAML 1.2.

``yes``, ``on`` and ``1:30`` may be names of arguments there, so only ``true``, ``false``, ``null``
and whole numbers are not plain text. Aliases are refused, as are values nested deeper than any
compiler nests them: the text is not trusted.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

_DEEPEST: Final = 32


class YamlError(ValueError):
    """The text is not YAML, or uses more of YAML than metadata need."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader, with fewer kinds of plain scalars."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise YamlError(f"line {self.peek_event().start_mark.line + 1}: an alias")
        if self._depth == _DEEPEST:
            line = self.peek_event().start_mark.line + 1
            raise YamlError(f"line {line}: nested deeper than {_DEEPEST}")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|false)$", "tf"),
    ("int", r"^-?[0-9]{1,20}$", "-0123456789"),
    ("null", r"^(?:~|null|)$", ["~", "n", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first))
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))


def read_yaml(text: str) -> Any:
    """Mappings, lists, strings, integers and booleans. Raises `YamlError`."""
    loader = None
    try:
        loader = _Loader(text.rstrip("\0"))
        return loader.get_single_data()
    except yaml.YAMLError as error:
        words = " ".join(str(error).split()).replace(' in "<unicode string>"', "")
        raise YamlError(words) from None
    finally:
        if loader is not None:
            loader.dispose()
