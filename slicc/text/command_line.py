"""From a dataclass of `slicc.text.options` to a command that typer runs, and its help.

Invariant: a command is called with one object of its class, every field of it read and within
its limits; typer's own classes appear nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from slicc.text.options import Spec, names_of, specs

T = TypeVar("T")


def new_app(name: str, help: str, **more: Any) -> typer.Typer:
    """An application whose commands are verbs."""
    return typer.Typer(
        name=name,
        help=help,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **more,
    )


def add_command(
    app: typer.Typer,
    name: str,
    options: type[T],
    run: Callable[[T], object],
    help: str,
    cls: type[TyperCommand] | None = None,
) -> None:
    """A verb. Its exit status is what ``run`` returns, if that is an integer."""

    hints = get_type_hints(options)

    def call(**values: Any) -> None:
        several = {name for name, hint in hints.items() if get_origin(hint) is tuple}
        values |= {name: tuple(values[name] or ()) for name in several}
        status = run(options(**values))
        raise typer.Exit(status if type(status) is int else 0)

    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [_parameter(field, spec, hints[field.name]) for field, spec in specs(options)]
    )
    call.__annotations__ = {}
    app.command(name, cls=cls or Command, help=help)(call)


def _parameter(field: Field[Any], spec: Spec, hint: Any) -> Parameter:
    """What typer would read of a function's parameter."""
    kind, default = hint, field.default
    if get_origin(hint) is tuple:
        kind, default = list[get_args(hint)[0]], default or None  # type: ignore[misc]
    info = typer.Argument if spec.is_argument else typer.Option
    names = () if spec.is_argument else names_of(field, spec)
    settings = info(
        *names,
        help=spec.help,
        metavar=spec.metavar,
        parser=None if spec.read is None else _reader(spec.read),
        rich_help_panel=spec.section or None,
        show_default=spec.shows_default,
    )
    return Parameter(
        field.name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, settings],
    )


def _reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def checked(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return checked


class Command(TyperCommand):
    """A verb whose help has sections, and that knows which other verb has an option it lacks."""

    refusal = "No such option: {option}. It is an option of {others}."

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        self._refuse_options_of_others(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_options_of_others(self, ctx: Any, words: Sequence[str]) -> None:
        mine = _spellings(self)
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                return
            if not name.startswith("--") or name in mine or ctx.parent is None:
                continue
            others = ctx.parent.command.commands.items()
            having = [verb for verb, command in others if name in _spellings(command)]
            if having:
                ctx.fail(self.refusal.format(option=name, others=" and ".join(having)))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        parameters = self.get_params(ctx)
        for parameter in sorted(parameters, key=lambda p: p.param_type_name != "argument"):
            record = parameter.get_help_record(ctx)
            if record is not None:
                other = "Arguments" if parameter.param_type_name == "argument" else "Options"
                section = getattr(parameter, "rich_help_panel", None) or other
                sections.setdefault(section, []).append(record)
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records)


def _spellings(command: Any) -> set[str]:
    """Of all options; each command also knows ``--help``."""
    return {"--help"}.union(
        *((*parameter.opts, *parameter.secondary_opts) for parameter in command.params)
    )
