"""``gpu-tester``: parses, calls the function of a verb, and ends with its exit status.

0: every episode passed. 1: a bug was found. 2: misuse or bad input, reported in one message without
a traceback. 130: interrupted (143: by SIGTERM), with what had been done until then. 70: a bug of
ours, with its traceback; never mistaken for a bug of the protocol. Invariant: importing this
module imports nothing heavy; ``gpu-tester --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Final, NoReturn

from typer import BadParameter

from slicc.text.command.command_line import new_app
from slicc.text.command.exit_status import heed_endings, run_command
from slicc.text.command.options import written
from slicc.text.command.verb import Verb, imported, later
from slicc.text.command.version import version_option
from tester.cli.endings import input_error
from tester.execution.collector import tune_collector

_HELP: Final = """Break a coherence protocol: run random data-race-free programs on it and judge
every byte."""
_EPILOG: Final = """Without a verb, run: gpu-tester --protocol MI --episodes 10000 --seed 1.
gpu-tester VERB -h shows the options of each."""
_PROTOCOL: Final = ("--protocol", "-p")
_OF_THE_COMMAND: Final = ("-h", "--help", "--version")


def _verb(name: str, options: str, help: str, module: str = "", **more: Any) -> Verb:
    """``options``: module and class. ``module``: where its function is, if not in one of its own
    name."""
    function = imported(f"tester.cli.verbs.{module or name}", name)
    place, _, kind = options.partition(".")
    known = later(f"tester.cli.options.{place}", kind)
    return Verb(name, known, lambda given: _status(lambda: function(given)), help, **more)


VERBS: Final = (
    _verb("run", "run.RunOptions", "Run legs drawn from a seed (the default)."),
    _verb(
        "replay",
        "legs.ReplayOptions",
        "Run the one leg in a replay file again, as it was.",
        refusal="replay runs a leg as it is, so {option} has no effect with it",
    ),
    _verb("trace", "trace.TraceOptions", "Run the requests in a CSV file; say what they cost."),
    _verb(
        "campaign",
        "campaign.CampaignOptions",
        "Run legs for days; what they bring is kept in a directory.",
    ),
    _verb(
        "status",
        "campaign.StatusOptions",
        "Show what a campaign in a directory has done so far.",
        module="campaign",
    ),
    _verb(
        "shrink", "shrink.ShrinkOptions", "Bring a failing leg down to the least that still fails."
    ),
    _verb(
        "litmus",
        "litmus.LitmusOptions",
        "Run scenarios and litmus tests many times; count outcomes.",
    ),
    _verb(
        "report",
        "report.ReportOptions",
        "Draw the run of a leg as one page to look at and to forward.",
    ),
    _verb(
        "mutate",
        "mutate.MutateOptions",
        "Make mistakes in a protocol and count those that legs find.",
    ),
    _verb(
        "explore",
        "explore.ExploreOptions",
        "Explore every order of messages of a small system.",
        module="explore.search",
    ),
    _verb(
        "coverage",
        "coverage.CoverageOptions",
        "Put together what runs and explorations have reached.",
        module="explore.coverage",
    ),
    _verb("diff", "legs.DiffOptions", "Run both engines and show where they first differ."),
    _verb(
        "generate",
        "legs.GenerateOptions",
        "Write the first leg of a run as a replay file; run nothing.",
        module="programs",
    ),
    _verb(
        "verify",
        "legs.VerifyOptions",
        "Judge the program in a replay file by a slow second opinion.",
        module="programs",
    ),
)


def with_verb(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with a verb; older spellings, which reports name, get theirs.

    A protocol may stand in place of the verb, or behind `run`. Raises BadParameter where another
    one follows, and for a word that is neither.
    """
    if arguments[:1] == ["diff-engines"]:
        return with_verb(["--diff-engines", *arguments[1:]])
    if arguments[:1] == ["run"] and _is_protocol("".join(arguments[1:2])):
        return with_verb(arguments[1:])
    first = arguments[0] if arguments else ""
    if _is_protocol(first):
        _refuse_another_protocol(first, arguments[1:])
        return with_verb(["--protocol", *arguments])
    if first in _OF_THE_COMMAND or (first and not first.startswith("-")):
        _refuse_unknown(first)
        return list(arguments)
    replays, rest = _without_replay(arguments)
    if "--diff-engines" in rest:
        return ["diff", *(word for word in rest if word != "--diff-engines")]
    return ["replay" if replays else "run", *rest]


def meant(arguments: Sequence[str]) -> list[str]:
    """The arguments with a verb, and without a ``--seed`` that has no value: one is to be drawn."""
    words = with_verb(arguments)
    seeded = any(words[:1] == [verb.name] and "--seed" in written(verb.options) for verb in VERBS)
    return _without_bare_seed(words) if seeded else words


def _shipped() -> Iterable[str]:
    from protocols import shipped

    return shipped()


def _is_protocol(word: str) -> bool:
    """Whether it names a protocol, or is so close to the name of one that it was meant."""
    if not word or word.startswith("-") or word in {verb.name for verb in VERBS}:
        return False
    from protocols import shipped
    from slicc.text.suggest import suggest

    known = shipped()
    return word in known or word.endswith((".slicc", ".sm")) or suggest(word, known) is not None


def _refuse_unknown(word: str) -> None:
    """Neither a verb nor a protocol, nor close to one of them. Raises BadParameter."""
    from difflib import get_close_matches

    verbs = [verb.name for verb in VERBS]
    if word not in _OF_THE_COMMAND and not get_close_matches(word, verbs):
        raise BadParameter(
            f"{word} is neither a verb ({', '.join(verbs)}) nor a protocol: one of "
            f"{', '.join(_shipped())}, or the path of a .slicc or .sm file"
        )


def _refuse_another_protocol(first: str, words: Sequence[str]) -> None:
    """The last one would be taken, and that in the place of the verb stand there unheeded.

    Raises BadParameter.
    """
    for word, after in zip(words, [*words[1:], ""]):
        option, equals, value = word.partition("=")
        if word == "--":
            return
        if option in _PROTOCOL:
            other = value if equals else after
        elif word.startswith("-p") and not word.startswith("--"):
            other = word[2:]
        else:
            continue
        if other != first:
            raise BadParameter(f"two protocols are given, {first} and {other}: name one")


def _without_bare_seed(arguments: Sequence[str]) -> list[str]:
    return [
        word
        for word, after in zip(arguments, [*arguments[1:], "-"])
        if word != "--seed" or not after.startswith("-") or after[1:].isdigit()
    ]


def _without_replay(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether ``--replay FILE`` is there, and the arguments with the file as a positional one."""
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name == "--replay":
            file = [value] if equals else []
            return True, [*arguments[:place], *file, *arguments[place + 1 :]]
    return False, list(arguments)


app = new_app("gpu-tester", _HELP, VERBS, rewrite=meant, first=_shipped, epilog=_EPILOG)


@app.callback()
def options(version: Annotated[bool, version_option("gpu-tester")] = False) -> None:
    """Options of the command as a whole; its help is that of the application."""


def _status(command: Callable[[], object]) -> int:
    return run_command(
        "gpu-tester", command, input_error, "this is a bug of the tester, not of the protocol"
    )


def main() -> NoReturn:
    """Entry point of the ``gpu-tester`` command."""
    tune_collector()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's others spin, and multiply nothing
    heed_endings()
    sys.exit(_status(app))


if __name__ == "__main__":
    main()
