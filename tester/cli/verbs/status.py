"""``gpu-tester status``: what a campaign that is kept in a directory has done so far."""

from __future__ import annotations

from slicc.text.command.exit_status import FINE
from slicc.text.data import json_text
from slicc.text.files import write_whole
from slicc.text.terminal import printable_lines
from tester.campaign_directory.directory import CampaignDirectory
from tester.campaign_directory.status import as_table, read_status, text_lines
from tester.campaign_directory.status_page import html_page
from tester.campaign_directory.store import Store
from tester.cli.checks import check_files
from tester.cli.options.campaign import StatusOptions
from tester.cli.options.common import Format


def status(options: StatusOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_files({"--html": options.html})
    directory = CampaignDirectory(options.directory)
    directory.require()
    with Store(directory.database, read_only=True) as store:
        found = read_status(directory, store, directory.lock().process_at_work())
    if options.html is not None:
        page = html_page(found, options.html.resolve().parent)
        write_whole(options.html, page.encode())
    if options.format is Format.json:
        print(json_text(as_table(found), indent=2))
    else:
        for line in text_lines(found):
            print(printable_lines(line))
    return FINE
