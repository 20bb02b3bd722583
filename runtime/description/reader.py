"""From plain tables to the pieces of a system description, and back.

msgspec checks a whole description at once. Its message leaves out the names of tables, so for an
error the deepest value that is wrong by itself is looked for, along the types of the fields.

Invariant: ``read(type(piece), plain(piece), ...) == piece``; a field of no piece is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import FieldInfo, astuple, fields

from runtime.description.origin import DescriptionError, Origin, Path, unknown_name
from runtime.description.parts import FieldError

P = TypeVar("P", bound=Struct)
_SCALARS: Final = frozenset((bool, int, float, str))


def read(kind: type[P], data: object, origin: Origin, path: Path = ()) -> P:
    """The piece that the table at ``path`` describes. Raises DescriptionError."""
    try:
        return convert(data, kind)
    except ValidationError as error:
        raise _located(kind, data, path, error, origin) from None


def plain(value: object) -> Any:
    """Tables, lists and scalars, in the shape of the TOML; without fields that say nothing."""
    if type(value) in _SCALARS:  # most are: the rest of the questions takes ten times as long
        return value
    if isinstance(value, Struct):
        table = {}
        for field in fields_of(type(value)):
            content = getattr(value, field.name)
            if content is not None:
                scalar = type(content) in _SCALARS
                table[field.encode_name] = content if scalar else plain(content)
        return table
    if isinstance(value, dict | Mapping):
        return {name: plain(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [plain(content) for content in value]
    return value


def shallow(value: object) -> Any:
    """A table or list of its own for a piece, table or list, whose contents it shares; else the
    value. ``read`` takes pieces as they are, without looking into them again."""
    if isinstance(value, Struct):
        contents = zip(_names_of(type(value)), astuple(value))
        return {name: content for name, content in contents if content is not None and name}
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, list | tuple) else value


@cache
def fields_of(kind: type[Struct]) -> tuple[FieldInfo, ...]:
    """The fields that a table may have. Every leg of a campaign asks for them."""
    return tuple(field for field in fields(kind) if field.encode_name)


@cache
def _names_of(kind: type[Struct]) -> tuple[str, ...]:
    """The names of a struct's fields in a table; an empty one may be in no table."""
    return tuple(field.encode_name for field in fields(kind))


def alternatives(kind: Any, *limits: Meta) -> list[tuple[Any, Meta]]:
    """The types that a value may be of, each with its limits."""
    if get_origin(kind) is Annotated:
        return alternatives(kind.__origin__, *kind.__metadata__)
    if get_origin(kind) in (Union, UnionType):
        return [found for each in get_args(kind) for found in alternatives(each)]
    return [] if kind is NoneType else [(kind, limits[0] if limits else Meta())]


def _located(
    kind: Any, value: object, path: Path, error: ValidationError, origin: Origin
) -> DescriptionError:
    """The error of the deepest value that is wrong by itself, at its place."""
    if isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, Mapping):
        known = fields_of(kind)
        names = [field.encode_name for field in known]
        for name, content in value.items():
            if name not in names:
                return origin.error((*path, name), content, unknown_name("field", name, names))
        for field in known:
            if field.required and field.encode_name not in value:
                message = f"required: {meaning(field)}"
                return origin.error((*path, field.encode_name), None, message)
    for part, inner, content in _inside(kind, value):
        try:
            convert(content, inner)
        except ValidationError as deeper:
            return _located(inner, content, (*path, part), deeper, origin)
    if isinstance(error.__cause__, FieldError) and isinstance(value, Mapping):
        name = error.__cause__.field
        return origin.error((*path, name), value.get(name), str(error.__cause__))
    return origin.error(path, _written(value), _expected(kind, value, path))


def _written(value: object) -> object:
    """A value as it would be written: with tables in place of the pieces that it holds."""
    if isinstance(value, Mapping):
        return {name: plain(e) if isinstance(e, Struct) else e for name, e in value.items()}
    if isinstance(value, list):
        return [plain(e) if isinstance(e, Struct) else e for e in value]
    return value


def meaning(field: FieldInfo) -> str:
    """What the declaration of a field says of it."""
    return next((m.description for m in field.type.__metadata__ if m.description), "")


def _inside(kind: Any, value: object) -> Iterator[tuple[str | int, Any, object]]:
    """What a value consists of: key or position, type and value of each part."""
    for inner, _ in alternatives(kind):
        if isinstance(value, Mapping) and get_origin(inner) is Mapping:
            for name, content in value.items():
                yield name, get_args(inner)[1], content
        elif isinstance(value, Mapping) and isinstance(inner, type) and issubclass(inner, Struct):
            for field in fields_of(inner):
                if field.encode_name in value:
                    yield field.encode_name, field.type, value[field.encode_name]
        elif isinstance(value, list | tuple) and get_origin(inner) is tuple:
            for position, content in enumerate(value):
                yield position, get_args(inner)[0], content


_NOUNS: Final = {
    int: "an integer",
    bool: "true or false",
    str: "a string",
    Literal: "a string",
    Mapping: "a table",
}


def _expected(kind: Any, value: object, path: Path) -> str:
    """What is possible in place of a value that is not."""
    possible = []
    for inner, limits in alternatives(kind):
        outer = get_origin(inner) or inner
        most = limits.max_length
        if outer is int and type(value) is int:
            return f"must be between {limits.ge} and {limits.le}"
        if outer is Literal and isinstance(value, str):
            return unknown_name("choice", value, get_args(inner))
        if outer is str and isinstance(value, str):
            too_long = most is not None and len(value) > most
            return f"longer than {most} characters" if too_long else f"expected {limits.title}"
        if outer is Mapping and isinstance(value, Mapping):
            return f"more than {most} tables"
        if outer is tuple:
            [(element, _)] = alternatives(get_args(inner)[0])
            tables = f"at most {most} tables [[{path[-1]}]]"
            plural = {str: "strings", int: "integers"}.get(element)
            possible.append(f"a list of at most {most} {plural}" if plural else tables)
        else:
            possible.append(_NOUNS.get(outer, "a table"))
    return f"expected {', or '.join(possible)}"
