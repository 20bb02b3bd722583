"""``slicc ci``: the file with which GitHub or GitLab checks and tests a protocol at every change.

The path of the protocol reaches YAML, expressions of GitHub, variables of GitLab and a shell, each
with a syntax of its own. Invariant: only paths that mean themselves in all of them are written; no
file that exists is touched.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from protocols import shipped
from slicc.cli.options import CiOptions, CompilerOptions, Service
from slicc.cli.session import compiling, named_file
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass

_TEMPLATES: Final = Path(__file__).parent / "ci_files"
_SAFE: Final = re.compile(r"[\w./+][\w./+ -]*")
_GITLAB: Final = Path(".gitlab-ci.yml")


@dataclass(frozen=True, slots=True)
class CiFile:
    """A file to be written. ``hint``: what to do next."""

    path: Path
    text: str
    hint: str

    def write(self) -> Path:
        """The path. Raises OSError."""
        return write_whole(self.path, self.text.encode(), parents=True)


def ci(options: CiOptions) -> None:
    """Write the file and print its path. Findings are reported; with errors nothing is written, as
    the first step of every run would fail."""
    name = options.protocol
    if name not in shipped() and not named_file(Path(name)).is_file():
        raise Stop(f"there is no file {name}")
    file = ci_file(options.service, name, options.output)
    if name not in shipped():
        with compiling([Path(name)], CompilerOptions()):
            pass
    print(file.write())
    print(file.hint, file=sys.stderr)


def ci_file(service: Service, protocol: str, output: Path | None = None) -> CiFile:
    """``protocol``: a shipped name, or a path that need not exist yet. Raises Stop."""
    root = _root()
    named = protocol if protocol in shipped() else _below(Path(protocol), root)
    if _SAFE.fullmatch(named) is None:
        raise Stop(
            f"{named!r} cannot stand in a workflow: letters, digits, blanks and ./+-_ are possible"
        )
    stem = re.sub(r"\W", "-", Path(named).stem)
    path = root / _place(service, stem) if output is None else output
    if path.exists() or path.is_symlink():
        raise Stop(f"{path} exists already; --output FILE names another one{_included(service)}")
    text = (_TEMPLATES / f"{service.value}.yml").read_text(encoding="utf-8")
    written = text.replace("@PROTOCOL@", named).replace("@NAME@", stem)
    return CiFile(path, written, f"\nNext: commit {path}; it runs `slicc` as pip installs it.")


def _place(service: Service, stem: str) -> Path:
    if service is Service.GITHUB:
        return Path(".github", "workflows", f"slicc-{stem}.yml")
    return _GITLAB


def _included(service: Service) -> str:
    """GitLab reads one file, which may include others."""
    return f", for {_GITLAB} to include" if service is Service.GITLAB else ""


def _root() -> Path:
    """The directory that both services check out: the repository's, else the working one."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _below(path: Path, root: Path) -> str:
    whole = path.resolve()
    if not whole.is_relative_to(root.resolve()):
        raise Stop(f"{path} is outside of {root}, which a workflow checks out")
    return whole.relative_to(root.resolve()).as_posix()
