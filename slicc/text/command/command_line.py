"""From a dataclass of `slicc.text.command.options` to a command that typer runs, and its help.

Invariant: a command is called with one object of its class, every field of it read and within
its limits; only the verb that is used is built, because typer takes a millisecond an option, and a
class of options some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, NoReturn, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from slicc.text.command.options import (
    Spec,
    is_several,
    members_of,
    names_of,
    one_of,
    specs,
    written,
)
from slicc.text.command.verb import Verb
from slicc.text.wording import listed

SHOW: Final = "--show-completion"
ASK: Final = "--complete"
"""What a shell calls: the words before the cursor follow, the last one unfinished."""


def new_app(
    name: str,
    help: str,
    verbs: Sequence[Verb],
    *,
    rewrite: Callable[[Sequence[str]], list[str]] = list,
    first: Callable[[], Iterable[str]] = tuple,
    **more: Any,
) -> typer.Typer:
    """An application of verbs; ``rewrite`` may change the arguments of a command line first.

    ``first``: what a shell may offer in the place of a verb.
    """

    class Group(_Verbs):
        table = {verb.name: verb for verb in verbs}

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            if args[:1] in ([SHOW], [ASK]):
                _complete(name, self.table, rewrite, args, first)
            args = rewrite(args)
            if args and args[0] in self.table:
                self.params, self.add_help_option = [], False  # reading one loads pydantic
            return super().parse_args(ctx, args)

    return _typer(name=name, help=help, cls=Group, **more)


def _complete(
    name: str,
    table: Mapping[str, Verb],
    rewrite: Callable[[Sequence[str]], list[str]],
    arguments: Sequence[str],
    offered: Callable[[], Iterable[str]],
) -> NoReturn:
    from slicc.text.command.completion import candidates, script

    first, *rest = arguments
    if first == SHOW:
        print(script(name, rest), end="")
    else:
        for word in candidates(table, rewrite, rest, offered):
            print(word)
    raise typer.Exit


def _typer(**settings: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
        **settings,
    )


class _Verbs(TyperGroup):
    """A group whose commands are built when they are asked for."""

    table: Mapping[str, Verb] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(self.table)  # type: ignore[assignment]  # typer suggests one

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        verb = self.table.get(cmd_name)
        return None if verb is None else _command(verb)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records = [each.get_help_record(ctx) for each in self.get_params(ctx)]
        records.insert(-1, (f"{SHOW} SHELL", "Print a script for bash, zsh or fish."))
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb.name, verb.help) for verb in self.table.values()])


def _command(verb: Verb) -> Any:
    hints = get_type_hints(verb.options)
    several = [field.name for field, _ in specs(verb.options) if is_several(hints[field.name])]

    def call(**values: Any) -> None:
        values |= {name: tuple(values[name] or ()) for name in several}
        status = verb.run(verb.options(**values))
        raise typer.Exit(status if type(status) is int else 0)

    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [_parameter(field, spec, hints[field.name]) for field, spec in specs(verb.options)]
    )
    call.__annotations__ = {}
    app = _typer()
    app.command(verb.name, cls=_Command, help=verb.help)(call)
    return get_command(app)


def _parameter(field: Field[Any], spec: Spec, hint: Any) -> Parameter:
    """What typer would read of a function's parameter."""
    kind, default = hint, field.default
    if is_several(hint):
        kind, default = list[get_args(hint)[0]], default or None  # type: ignore[misc]
    info = typer.Argument if spec.is_argument else typer.Option
    names = () if spec.is_argument else names_of(field, spec)
    read, metavar = spec.read, spec.metavar
    members = members_of(kind)
    if members and read is None:
        read, metavar = one_of(members), metavar or f"[{'|'.join(members)}]"
    settings = info(
        *names,
        help=spec.help,
        metavar=metavar,
        parser=None if read is None else _reader(read),
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


class _Command(TyperCommand):
    """A verb whose help has sections, and that knows which other verb has an option it lacks."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if isinstance(ctx.parent.command, _Verbs):
            _refuse_options_of_others(ctx, ctx.parent.command.table, args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments as manual pages have them: ``FILE...``, ``[SLUG]``; typer writes ``{FILE}``."""
        pieces = ["[OPTIONS]"]
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
                word = f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"
                pieces.append(word if parameter.required else f"[{word}]")
        return pieces

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


def _refuse_options_of_others(
    ctx: Any, table: Mapping[str, Verb], arguments: Sequence[str]
) -> None:
    verb = table[ctx.info_name]
    mine = written(verb.options)
    for argument in arguments:
        option = argument.partition("=")[0]
        if argument == "--":
            return
        if option.startswith("-") and option not in mine:
            others = [other.name for other in table.values() if option in written(other.options)]
            if others:
                ctx.fail(verb.refusal.format(option=option, others=listed(others)))
