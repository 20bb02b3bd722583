"""``gpu-tester campaign`` and ``status``: legs whose results are kept, for a night or a month."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from protocols.loader import LoadedProtocol
from slicc.text.command.exit_status import FINE
from slicc.text.command.options import names_of, specs
from slicc.text.command.version import installed_version
from slicc.text.data import json_text
from slicc.text.files import write_whole
from slicc.text.terminal import printable_lines
from tester.campaign.drawing.options import Options
from tester.campaign_directory.directory import CampaignDirectory
from tester.campaign_directory.identity import check_facts, kept, resumed
from tester.campaign_directory.status import as_table, read_status, text_lines
from tester.campaign_directory.status_page import html_page
from tester.campaign_directory.store import Store
from tester.cli.campaign_session import CampaignSession
from tester.cli.checks import check_files, check_includes
from tester.cli.options.campaign import CampaignOptions, StatusOptions
from tester.cli.options.common import Format, LegOptions, ProtocolOptions
from tester.cli.verbs.run import drawn_options, load_drawn
from tester.engines.choice import Choice
from tester.errors import ConfigError

_BUDGETS: Final = frozenset({"episodes"})


def campaign(options: CampaignOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    _check_places(options)
    directory = CampaignDirectory(options.directory)
    directory.check()
    with ExitStack() as stack:
        if directory.exists:
            stack.enter_context(directory.lock())
            options = _resumed(options, directory)
        protocol = load_drawn(options, options.engine is not Choice.python)
        drawn = drawn_options(options, protocol)
        if not directory.exists:
            directory.make()
            stack.enter_context(directory.lock())
        store = stack.enter_context(Store(directory.database, create=True))
        is_new = _identify(store, options, protocol, drawn, directory.root)
        try:
            return CampaignSession(options, protocol, drawn, directory, store).run()
        except ConfigError:
            if is_new and not store.next_leg():  # so other words may begin it
                store.set_facts({})
            raise


def _check_places(options: CampaignOptions) -> None:
    """Legs run in one kind of place. Raises ConfigError."""
    given = {
        "--jobs": options.jobs > 1,
        "--scheduler": options.scheduler is not None,
        "--local-cluster": options.local_cluster is not None,
    }
    first, *more = [name for name, there in given.items() if there] or [""]
    if more:
        raise ConfigError(f"{first} and {more[0]}: only one of them is possible")


def kept_names() -> dict[str, str]:
    """The options that stay the same from session to session, and how they are written."""
    mine = {"guide": "--guide"}
    for kind in (ProtocolOptions, LegOptions):
        mine |= {each.name: names_of(each, spec)[0] for each, spec in specs(kind)}
    return {name: written for name, written in mine.items() if name not in _BUDGETS}


def _resumed(options: CampaignOptions, directory: CampaignDirectory) -> CampaignOptions:
    """The options with those that the directory has. Raises ConfigError."""
    with Store(directory.database, create=True) as store:  # which may have ended before its tables
        facts = store.facts()
    if not facts:  # it was ended before they were written
        return options
    check_facts(facts, {"version": installed_version()}, directory.root)
    there = facts.get("options")
    if not isinstance(there, dict):
        raise ConfigError(f"{directory.database}: its facts are damaged")
    seeded = {**there, "seed": facts.get("seed")}
    return resumed(options, seeded, kept_names(), directory.root)


def _identify(
    store: Store,
    options: CampaignOptions,
    protocol: LoadedProtocol,
    drawn: Options,
    where: Path,
) -> bool:
    """Write down what the campaign is of, or compare; whether it is new. Raises ConfigError."""
    here: dict[str, Any] = {
        "version": installed_version(),
        "protocol": protocol.identity.name,
        "digest": protocol.identity.digest,
        "seed": drawn.seed,
        "guided": options.guide,
        "options": kept(options, kept_names()),
    }
    there = store.facts()
    if there:
        check_facts(there, here, where)
    else:
        store.set_facts(here)
    return not there


def status(options: StatusOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_files({"--html": options.html})
    directory = CampaignDirectory(options.directory)
    directory.require()
    directory.check_not_kept("--html", options.html)
    with Store(directory.database, read_only=True) as store:
        found = read_status(directory, store, directory.lock().process_at_work())
    if not found.facts:
        raise ConfigError(f"{directory.root}: no campaign has begun there")
    if options.html is not None:
        page = html_page(found, options.html.resolve().parent)
        write_whole(options.html, page.encode())
    if options.format is Format.json:
        print(json_text(as_table(found), indent=2))
    else:
        for line in text_lines(found):
            print(printable_lines(line))
    return FINE
