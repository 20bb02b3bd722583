"""From files on the command line to protocols: includes read and spliced in place.

A protocol is a driver (``.slicc``) with everything it includes. A ``.sm`` file means the drivers
beside it that include it; one that no driver includes is a protocol by itself.
Invariant: every ``Include`` in a loaded protocol has a body; that of a library file is empty,
because the compiler declares the library itself and never reads those files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.loading.includes import Found, IncludeRoots, NotFound, Outside
from slicc.loading.reader import CannotRead, Unreadable, real_path
from slicc.loading.texts import Texts
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest

DEPTH_LIMIT = 32
"""Includes inside each other."""
SPLICE_LIMIT = 1000
"""Files spliced into one protocol."""

_INCLUDES = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z) | \binclude\s*(?:"(?P<a>[^"\n]*)"|'(?P<b>[^'\n]*)')
      | "[^"\n]*" | '[^'\n]*'""",
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(-[A-Za-z_0-9]+)*\Z")


@dataclass(frozen=True, slots=True)
class LoadedProtocol:
    """One protocol as written.

    ``name`` comes from ``protocol "…";``, else from the file; it is safe as a file name.
    ``declarations`` is the tree of the root file with all includes spliced; ``sources`` are the
    files in reading order. ``complete`` is False if a file could not be read or parsed: this has
    been reported, and names will be missing too.
    """

    name: str
    path: Path
    declarations: tuple[syntax.Declaration, ...]
    sources: tuple[SourceFile, ...]
    complete: bool


def load(
    paths: Sequence[Path],
    include_roots: Sequence[Path],
    sink: DiagnosticSink,
    prelude_names: Collection[str],
    texts: Texts | None = None,
) -> list[LoadedProtocol]:
    """The protocols that files on the command line mean, in that order.

    ``prelude_names`` are the files of the library: never read, wherever they are. ``texts``: where
    contents and trees come from. Raises :class:`CannotRead` if a file in ``paths`` is not there;
    all else goes to ``sink``.
    """
    if texts is None:
        texts = Texts(sink)
    drivers = _drivers(paths, include_roots, texts, prelude_names)
    return [
        _Splicer(driver, IncludeRoots(driver, include_roots), texts, sink, prelude_names).load()
        for driver in drivers
    ]


def load_text(
    text: str,
    path: Path,
    include_roots: Sequence[Path],
    sink: DiagnosticSink,
    prelude_names: Collection[str],
) -> LoadedProtocol:
    """The protocol that a file ``path`` with this text would be; the file itself is not read."""
    texts = Texts(sink)
    texts.hold(path, text.encode("utf-8", "surrogatepass"))
    return _Splicer(path, IncludeRoots(path, include_roots), texts, sink, prelude_names).load()


# ------------------------------------------------------------------ which files are protocols


def _drivers(
    paths: Sequence[Path],
    include_roots: Sequence[Path],
    texts: Texts,
    prelude_names: Collection[str],
) -> list[Path]:
    chosen: dict[Path, Path] = {}  # real path -> as named
    reached: dict[Path, dict[Path, set[Path]]] = {}  # directory -> driver -> real paths
    library = []
    for path in paths:
        try:
            texts.content(path)
        except Unreadable as error:
            raise CannotRead(_cannot_read(path, error)) from None
        if path.name in prelude_names:
            library.append(path)
            continue
        users: Iterable[Path] = ()
        if path.suffix == ".sm":
            if path.parent not in reached:
                reached[path.parent] = {
                    driver: _reachable(driver, include_roots, texts, prelude_names)
                    for driver in sorted(path.parent.glob("*.slicc"))
                    if driver.name not in prelude_names
                }
            real = real_path(path)
            users = [driver for driver, files in reached[path.parent].items() if real in files]
        for driver in users or (path,):
            chosen.setdefault(real_path(driver), driver)
    if library and not chosen:
        raise CannotRead(f"{library[0]} belongs to the library; there is no protocol to compile")
    return list(chosen.values())


def _cannot_read(path: Path, error: Unreadable) -> str:
    if path.is_dir():
        return f"cannot read {path}: it is a directory; name its files, like {path / '*.sm'}"
    return f"cannot read {path}: {error}"


def _reachable(
    driver: Path, include_roots: Sequence[Path], texts: Texts, prelude_names: Collection[str]
) -> set[Path]:
    """Real paths of a driver and the files it includes, without parsing or reporting."""
    roots = IncludeRoots(driver, include_roots)
    seen: set[Path] = set()
    waiting = [driver]
    while waiting and len(seen) < SPLICE_LIMIT:
        path = waiting.pop()
        if real_path(path) in seen:
            continue
        try:
            text = texts.content(path).decode("utf-8", "replace")
        except Unreadable:
            continue
        seen.add(real_path(path))
        for match in _INCLUDES.finditer(text):
            written = match["a"] or match["b"]
            if written and PurePosixPath(written).name not in prelude_names:
                found = roots.find(written, path)
                if isinstance(found, Found):
                    waiting.append(found.path)
    return seen


# ------------------------------------------------------------------ splicing


class _Splicer:
    """Loads one protocol."""

    def __init__(
        self,
        root: Path,
        roots: IncludeRoots,
        texts: Texts,
        sink: DiagnosticSink,
        prelude_names: Collection[str],
    ) -> None:
        self._root = root
        self._roots = roots
        self._texts = texts
        self._sink = sink
        self._prelude_names = prelude_names
        self._open: list[tuple[Path, Span | None]] = []  # real path, include that opened it
        self._sources: dict[Path, SourceFile] = {}
        self._protocol: syntax.Protocol | None = None
        self._spliced = 0
        self._complete = True

    def load(self) -> LoadedProtocol:
        declarations = self._read(self._root, str(self._root), None)
        return LoadedProtocol(
            self._name(),
            self._root,
            declarations,
            tuple(self._sources.values()),
            self._complete,
        )

    def _name(self) -> str:
        if self._protocol is not None:
            name = self._protocol.name.value
            if _NAME.match(name):
                return name
            self._complete = False
            self._sink.error(
                "invalid-protocol-name",
                f"`{name}` cannot name a protocol",
                self._protocol.name.span,
                "letters, digits and `_`, beginning with a letter",
            )
        stem = re.sub(r"[^A-Za-z_0-9-]", "_", self._root.stem).strip("-")
        return stem if _NAME.match(stem) else f"_{stem}".replace("-", "_")

    def _read(
        self, path: Path, display: str, include: Span | None
    ) -> tuple[syntax.Declaration, ...]:
        """The declarations of a file; empty, and ``_complete`` cleared, if there are none."""
        real = real_path(path)
        try:
            source = self._texts.source(path, display)
        except Unreadable as error:
            if include is None:
                raise CannotRead(_cannot_read(path, error)) from None
            self._fail("unreadable-file", f"cannot read `{display}`: {error}", include)
            return ()
        if source is None:
            self._complete = False
            return ()
        self._sources.setdefault(real, source)
        tree = self._texts.tree(path, source)
        self._complete &= tree.complete
        if tree.unit is None:
            return ()
        self._open.append((real, include))
        declarations = self._splice(tree.unit.declarations, path)
        self._open.pop()
        return declarations

    def _splice(
        self, declarations: Iterable[syntax.Declaration], path: Path
    ) -> tuple[syntax.Declaration, ...]:
        result: list[syntax.Declaration] = []
        for declaration in declarations:
            if isinstance(declaration, syntax.Include):
                declaration = replace(declaration, body=self._include(declaration, path))
            elif isinstance(declaration, syntax.Machine):
                declaration = replace(declaration, body=self._splice(declaration.body, path))
            elif isinstance(declaration, syntax.Protocol):
                self._name_protocol(declaration)
            result.append(declaration)
        return tuple(result)

    def _name_protocol(self, declaration: syntax.Protocol) -> None:
        if self._protocol is None:
            self._protocol = declaration
            return
        self._fail(
            "duplicate-protocol",
            "the protocol already has a name",
            declaration.span,
            "second name",
            secondary=[Label(self._protocol.span, "first name")],
        )

    def _include(self, include: syntax.Include, including: Path) -> tuple[syntax.Declaration, ...]:
        written = include.path.value
        if PurePosixPath(written).name in self._prelude_names:
            return ()
        span = include.path.span
        self._spliced += 1
        if self._spliced > SPLICE_LIMIT or len(self._open) >= DEPTH_LIMIT:
            if self._spliced <= SPLICE_LIMIT:
                self._fail("too-many-includes", f"more than {DEPTH_LIMIT} files deep", span)
            elif self._spliced == SPLICE_LIMIT + 1:
                self._fail("too-many-includes", f"more than {SPLICE_LIMIT} files", span)
            return ()
        match self._roots.find(written, including):
            case Found(path, display):
                real = real_path(path)
                if real in [open_path for open_path, _ in self._open]:
                    self._report_cycle(real, written, span)
                    return ()
                return self._read(path, display, span)
            case Outside(reason):
                self._fail(
                    "include-outside-roots",
                    f"`{written}` may not be included: {reason}",
                    span,
                    help="allow a directory with `--include DIR` and write the path relative to it",
                )
            case NotFound(tried):
                self._report_missing(written, span, including, tried)
        return ()

    def _report_cycle(self, real: Path, written: str, span: Span) -> None:
        position = [path for path, _ in self._open].index(real)
        links = [link for _, link in self._open[position + 1 :] if link is not None]
        self._fail(
            "include-cycle",
            f"`{written}` includes itself",
            span,
            "it is being read already",
            secondary=[Label(link, "through this include") for link in links],
        )

    def _report_missing(
        self, written: str, span: Span, including: Path, tried: tuple[str, ...]
    ) -> None:
        names = sorted(
            path.name
            for directory in (including.parent, *self._roots.directories)
            if directory.is_dir()
            for path in directory.iterdir()
            if path.suffix in (".sm", ".slicc")
        )
        close = suggest(PurePosixPath(written).name, names)
        self._fail(
            "include-not-found",
            f"cannot find `{written}`",
            span,
            "no such file",
            notes=[f"looked at {', '.join(f'`{path}`' for path in tried)}"] if tried else [],
            help=f"did you mean `{close}`?" if close else None,
        )

    def _fail(
        self,
        slug: str,
        headline: str,
        span: Span,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        self._complete = False
        self._sink.error(slug, headline, span, label, secondary=secondary, notes=notes, help=help)
