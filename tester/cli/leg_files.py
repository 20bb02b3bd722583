"""Legs from files, whichever form they have: replay files, and scenarios in text.

Invariant: a text is bound to the protocol that the command line names, else to its own; what comes
back fits that protocol.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from protocols import shipped
from protocols.loader import LoadedProtocol, load_protocol, load_texts, reachable
from runtime.description.origin import MissingParameters
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import read_scenario
from slicc.scenario_text.syntax import PROTOCOL_ENDINGS, Scenario
from tester.campaign.replay_protocol import carried, fitted, named_protocol, parameters_of
from tester.cli.options.common import ProtocolOptions
from tester.engines.choice import Choice
from tester.errors import ConfigError
from tester.litmus.binding import Bound, bind
from tester.litmus.shipped import SUFFIX
from tester.program.replay_file import Leg, ReplayError, load_leg


def is_text(file: Path) -> bool:
    """Whether a file holds a scenario in text."""
    return file.suffix == SUFFIX


def require_name(file: Path) -> None:
    """Refuse a file without a name, beside which another goes by default: ``.`` has none to take.

    Raises ReplayError.
    """
    if not file.name:
        raise ReplayError(file, f"cannot be read: {os.strerror(errno.EISDIR)}")


def read_text(file: Path) -> Scenario:
    """The scenario in a file. Raises ReplayError, ScenarioError."""
    try:
        return read_scenario(file)
    except OSError as error:
        meant = f"; the protocol is --protocol {file}" if str(file) in shipped() else ""
        raise ReplayError(file, f"cannot be read: {error.strerror or error}{meant}") from None


def load_bound(options: ProtocolOptions, scenario: Scenario, file: Path, engine: Choice) -> Bound:
    """A scenario on the protocol that is asked for. Raises ConfigError, ScenarioError."""
    native = engine is not Choice.python
    name = protocol_of(options, scenario, file)
    values = scenario.assignments
    try:
        protocol = load_protocol(name, options.include, None, native, options.prelude, values)
    except MissingParameters as error:
        help_ = f'or here: `set "{next(iter(error.placeholders))}" = VALUE`'
        raise ScenarioError("setting", error.stated, scenario.span, help=help_) from None
    return bind(scenario, protocol)


def protocol_of(options: ProtocolOptions, scenario: Scenario, file: Path) -> str:
    """The protocol that is asked for, else the one that a text is for, by its name or by its path
    from there. Raises ConfigError."""
    wanted = options.protocol or scenario.protocol
    if wanted is None:
        raise ConfigError(f"{file} names no protocol: --protocol NAME does")
    if options.protocol is not None or not scenario.names_file():
        return wanted
    path = file.parent / wanted
    if not reachable(path, options.include):
        raise ConfigError(
            f"{file}: its protocol {path} lies neither below the working directory nor below a "
            f"directory of --include: --include {path.parent}, or --protocol with its path, "
            "allows it"
        )
    return str(path)


def protocol_from(directory: Path, protocol: LoadedProtocol) -> str | None:
    """How a text in a directory names a protocol by its file, if there is one and it can."""
    if not protocol.identity.path or not Path(protocol.identity.path).is_file():
        return None
    path = os.path.relpath(protocol.identity.path, directory)
    writable = path.isprintable() and '"' not in path and path.endswith(PROTOCOL_ENDINGS)
    return path if writable else None


def load_any(
    options: ProtocolOptions, file: Path, engine: Choice, *, racy: bool = False
) -> tuple[Leg, LoadedProtocol]:
    """The leg in a file, and its protocol. Of a text, the leg of its first key and delays.

    ``racy``: whether a scenario with conditions will do. Raises ReplayError, ConfigError,
    ScenarioError.
    """
    if not is_text(file):
        leg = load_leg(file)
        protocol = load_for(options, leg, file, engine)
        return fitted(leg, protocol, file), protocol
    scenario = read_text(file)
    if scenario.racy and not racy:
        what = "a scenario with conditions is judged by `litmus` and `replay` alone"
        raise ScenarioError("condition", what, scenario.conditions[0].span)
    bound = load_bound(options, scenario, file, engine)
    return bound.leg(bound.keys[0], bound.delays[0])[0], bound.protocol


def load_for(options: ProtocolOptions, leg: Leg, file: Path, engine: Choice) -> LoadedProtocol:
    """The protocol that is asked for, else the one of the file."""
    wanted = options.protocol
    native = engine is not Choice.python
    if wanted is None:
        texts = carried(leg, options.include)
        if texts is not None:
            return load_texts(texts, leg.protocol, native, parameters_of(leg))
        wanted = named_protocol(leg, file, options.include)
    return load_protocol(wanted, options.include, None, native, options.prelude, parameters_of(leg))
