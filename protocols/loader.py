"""From a name, a path or a compiled protocol to one that can be built, with its description.

Command lines and users' programs come here: it is the one place besides `slicc` itself that calls
the compiler.
Invariant: what is loaded is the protocol as its files say now; its identity holds a hash of their
texts, so that a replay can check whether they have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from protocols import SYSTEMS, shipped
from protocols.accepted_requests import Accepted, accepted_requests, fitted
from protocols.catalog import script_values, written_system
from protocols.compile_cache import Front, digest_of, finish, generate, remembered
from protocols.identity import ProtocolIdentity
from protocols.texts import ProtocolTexts, texts_of
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import DefectDescription, SystemDescription
from runtime.description.inference import complete, complete_with
from runtime.description.origin import MissingParameters
from runtime.description.variants import check as check_variants
from runtime.native.build import Sources
from slicc.loading.checkout import library_files
from slicc.text.files import Paths, several_paths
from slicc.text.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol as CompiledProtocol

AnyProtocol: TypeAlias = "str | Path | CompiledProtocol | LoadedProtocol"
"""What stands for a protocol: a shipped name, a path, or one that was compiled or loaded."""

NO_VALUES: Final[Mapping[str, object]] = MappingProxyType({})
SUFFIXES = (".slicc", ".sm")


class ProtocolMissing(ValueError):
    """No such protocol, or one that the tester cannot drive. The message is for the user."""


class ProtocolBroken(ValueError):
    """The protocol has errors. The message is the compiler's rendered diagnostics."""


@dataclass(frozen=True, slots=True)
class LoadedProtocol:
    """A protocol ready to be built, with its system description as written and completed."""

    identity: ProtocolIdentity
    info: ProtocolInfo
    written: SystemDescription
    description: SystemDescription
    note: str = ""
    """A line for the user on how the description was chosen, or nothing."""
    native: Sources | None = None
    """Its form in C++; None: it was not asked for, or ``why_not_native``."""
    why_not_native: str = ""
    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    """What the ports of its requesters accept, by group, as far as they say."""
    absent_defects: tuple[DefectDescription, ...] = ()
    """Defects of the known protocol that this text cannot have."""
    texts: ProtocolTexts | None = None
    """Its texts, if it is not a shipped one and they can be carried elsewhere."""


def locate(name: str) -> tuple[Path, bool]:
    """The file that a name or path means, and whether it is a shipped one.

    Raises ProtocolMissing, with a suggestion when one is close.
    """
    known = shipped()
    if name in known:
        return known[name], True
    path = Path(name)
    if path.suffix in SUFFIXES or path.exists():
        if path.is_file():
            return path, False
        if not name:
            raise ProtocolMissing("--protocol is empty: give a name or the path of a file")
        if path.is_dir():
            raise ProtocolMissing(f"protocol file {name} is a directory; name the file in it")
        reason = "is not a regular file" if path.exists() else "does not exist"
        raise ProtocolMissing(f"protocol file {name} {reason}")
    from slicc.text.suggest import suggest

    near = suggest(name, known)
    help_ = f"; did you mean {near}?" if near else ""
    listed = ", ".join(known) or "none"
    raise ProtocolMissing(
        f"there is no protocol {name}{help_} (shipped: {listed}; or give the path of a "
        f".slicc or .sm file)"
    )


def reachable(path: str | Path, include: Sequence[Path]) -> bool:
    """Whether a file may be opened because another file names it, links followed.

    Replay files and recordings may come from other people: a file that only they name is opened
    only below the working directory or below a directory that the command line names.
    """
    try:
        target = Path(path).resolve()
        roots = [directory.resolve() for directory in (Path(), *include)]
    except (OSError, RuntimeError, ValueError):  # a circle of links, or no path at all
        return False
    return any(target.is_relative_to(root) for root in roots)


def load_protocol(
    name: str,
    include: Sequence[Path] = (),
    system: Path | None = None,
    native: bool = False,
    preludes: Sequence[Path] = (),
    values: Mapping[str, object] = NO_VALUES,
) -> LoadedProtocol:
    """Compile a protocol and read its system description.

    The description is ``system``, else the ``.toml`` beside the protocol's file, else that of the
    known protocol that it matches (``protocols.catalog``); the rest is inferred.
    What an earlier run compiled from the same texts is reused. ``native``: with its C++, if it can
    be written so. ``preludes``: files that declare what the runtime lacks. ``values``: of
    parameters that nothing else gives one, by path. Raises ProtocolMissing, ProtocolBroken,
    DescriptionError, OSError.
    """
    path, is_shipped = locate(name)
    front = _front(path, include, preludes, native)
    if not native:
        front = replace(front, native=None, why_not_native="")
    identity = ProtocolIdentity(
        name if is_shipped else path.stem,
        front.digest,
        "" if is_shipped else str(path.resolve()),
    )
    loaded = _described(front, identity, (path.stem, front.path.stem), system, name, values)
    if is_shipped:
        return loaded
    # Older texts use the library of their checkout: it goes where they go.
    sources = (*front.sources, *map(str, library_files(front.path)))
    return replace(loaded, texts=texts_of(front.path, sources, include, preludes))


def digest_named(name: str, include: Sequence[Path] = (), preludes: Sequence[Path] = ()) -> str:
    """The hash of a protocol's texts. Raises ProtocolMissing, ProtocolBroken."""
    return _front(locate(name)[0], include, preludes, native=True).digest


def load_texts(
    texts: ProtocolTexts,
    identity: ProtocolIdentity,
    native: bool = False,
    values: Mapping[str, object] = NO_VALUES,
) -> LoadedProtocol:
    """Compile a protocol from texts alone; its name and path stay those that it had.

    Raises ProtocolMissing, ProtocolBroken, DescriptionError, OSError.
    """
    with texts.written() as (root, driver, preludes):
        loaded = load_protocol(str(driver), [root], None, native, preludes, values)
    kept = replace(identity, digest=loaded.identity.digest)
    return replace(loaded, identity=kept, texts=texts)


def load(
    protocol: AnyProtocol,
    include: Paths = (),
    system: str | Path | None = None,
    native: bool = True,
    preludes: Paths = (),
    values: Mapping[str, object] = NO_VALUES,
) -> LoadedProtocol:
    """A protocol ready to be built, from any form in which a program has it.

    A name or a path is read as :func:`load_protocol` does; a compiled protocol is generated and
    described; a loaded one is returned as it is. ``native=False``: it runs in Python only, which
    saves up to half a second for a compiled protocol. Raises what :func:`load_protocol` raises.
    """
    if isinstance(protocol, LoadedProtocol):
        return protocol
    system = None if system is None else Path(system)
    if isinstance(protocol, str | Path):
        return load_protocol(
            str(protocol), several_paths(include), system, native, several_paths(preludes), values
        )
    path = getattr(protocol, "path", None)
    if path is None:
        raise ProtocolMissing(
            f"{protocol!r} is no protocol: a name, a path, or what slicc.compile or "
            "protocols.load returned is needed"
        )
    with _generating(path):
        front = generate(protocol, native)
    known = shipped().get(path.stem) == path.resolve() or not path.is_file()
    identity = ProtocolIdentity(path.stem, front.digest, "" if known else str(path.resolve()))
    return _described(front, identity, (protocol.name, path.stem), system, path.stem, values)


def _described(
    front: Front,
    identity: ProtocolIdentity,
    names: Sequence[str],
    system: Path | None,
    wanted: str,
    values: Mapping[str, object],
) -> LoadedProtocol:
    """A generated protocol with its description; ``names``: what its files are called."""
    info = front.info
    found = written_system(front.path, system, info, names, SYSTEMS, front.bodies)
    written, note = found.description, found.note
    _check_named(written, {*names, info.name}, wanted)
    try:
        written, description = complete_with(written, info, values)
    except MissingParameters as error:
        stated, said = script_values(front.path, info, error.placeholders.keys() - values.keys())
        if not stated:
            raise
        written, description = complete_with(written, info, {**stated, **values})
        note = "; ".join(filter(None, (note, said)))
    accepted = accepted_requests(info, description)
    if identity.path and (found.known or not written.requesters):
        written, unknown = fitted(written, description, accepted)
        description = complete(written, info)
        note = "; ".join(filter(None, (note, unknown)))
    check_variants(written, description, info)
    require_agents(description, info)
    native, why_not = front.native, front.why_not_native
    return LoadedProtocol(
        identity, info, written, description, note, native, why_not, accepted, found.absent
    )


def compiled_protocol(
    name: str, include: Sequence[Path] = (), preludes: Sequence[Path] = ()
) -> CompiledProtocol:
    """A protocol as the compiler sees it. Raises ProtocolMissing, ProtocolBroken."""
    return _compile(locate(name)[0], include, preludes)


def compiled_again(
    loaded: LoadedProtocol, include: Sequence[Path] = (), preludes: Sequence[Path] = ()
) -> CompiledProtocol | None:
    """A loaded protocol as the compiler sees it. None: its texts are gone or have changed."""
    try:
        if loaded.texts is not None:
            with loaded.texts.written() as (root, driver, written):
                compiled = compiled_protocol(str(driver), [root], written)
        else:
            name = loaded.identity.path or loaded.identity.name
            compiled = compiled_protocol(name, include, preludes)
    except (ProtocolMissing, ProtocolBroken, OSError):
        return None
    return compiled if digest_of(compiled) == loaded.identity.digest else None


def _front(path: Path, include: Sequence[Path], preludes: Sequence[Path], native: bool) -> Front:
    """The protocol with its controllers: what an earlier run made of the same texts, or new."""
    front = remembered(path, include, preludes, native)
    if front is not None:
        return front
    compiled = _compile(path, include, preludes)
    with _generating(path):
        return finish(compiled, path, include, preludes, native)


def _compile(path: Path, include: Sequence[Path], preludes: Sequence[Path]) -> CompiledProtocol:
    from slicc.compiled import CompileError
    from slicc.compiler import compile
    from slicc.loading.reader import CannotRead

    try:
        return compile(path, include, preludes)
    except CannotRead as error:
        raise ProtocolMissing(str(error)) from None
    except CompileError as error:
        raise ProtocolBroken(f"{error}; nothing to test") from None


@contextmanager
def _generating(path: Path) -> Iterator[None]:
    """What cannot be written as controllers is a protocol that cannot be driven."""
    from slicc.codegen.python.errors import GenerationError

    try:
        yield
    except GenerationError as error:
        raise ProtocolMissing(f"{path}: {error}") from None


def _check_named(written: SystemDescription, names: set[str], wanted: str) -> None:
    """Refuse the description of another protocol: by name, since copies may lie anywhere."""
    if written.protocol is not None and Path(written.protocol).stem not in names:
        raise written.origin.error(
            ("protocol",), written.protocol, f"another protocol than {wanted}, which was asked for"
        )


def require_agents(description: SystemDescription, info: ProtocolInfo) -> SystemDescription:
    """The description, if anything in it can be driven. Raises ProtocolMissing otherwise."""
    if not description.agents:
        machines = ", ".join(machine.MACHINE for machine in info.machines)
        if not machines:
            raise ProtocolMissing(f"{info.name} declares no machine: there is nothing to drive")
        raise ProtocolMissing(
            f"{info.name} has no port to drive: none of its machines ({machines}) has a "
            "parameter of class Sequencer, VIPERCoalescer, GPUCoalescer or DMASequencer"
        )
    return description
