"""Templates whose code was kept: the same text, and nothing of another template's."""

from __future__ import annotations

import marshal
import sys
from pathlib import Path

import jinja2
import pytest

from slicc.text import templates
from slicc.text.templates import render


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one template, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "kept_package", raising=False)
    (tmp_path / "kept_package" / "templates").mkdir(parents=True)
    (tmp_path / "kept_package" / "__init__.py").touch()
    write(tmp_path, "hello {{ name }}\n")
    return tmp_path


def write(place: Path, text: str) -> None:
    (place / "kept_package" / "templates" / "one.txt").write_text(text)


def rendered(escape: bool = False, **values: str) -> str:
    """As another process would."""
    templates._environment.cache_clear()
    return render("kept_package", "one.txt", escape=escape, **values)


def test_kept_code_gives_the_same_text(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered(name="<world>") == "hello <world>\n"
    (stored,) = (kept / "cache" / "slicc").iterdir()
    before = stored.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(jinja2.Environment, "compile", fail)
    assert rendered(name="<world>") == "hello <world>\n"
    assert stored.read_bytes() == before


def test_another_text_or_escaping_is_compiled_anew(kept: Path) -> None:
    assert rendered(name="<world>") == "hello <world>\n"
    assert rendered(escape=True, name="<world>") == "hello &lt;world&gt;\n"
    assert rendered(name="<world>") == "hello <world>\n"
    write(kept, "goodbye {{ name }}\n")
    assert rendered(name="world") == "goodbye world\n"
    with pytest.raises(jinja2.UndefinedError):
        rendered()


def test_code_that_is_none_is_compiled_anew(kept: Path) -> None:
    rendered(name="world")
    (stored,) = (kept / "cache" / "slicc").iterdir()
    key = templates.private_files.load(stored.name)
    assert key is not None
    for nonsense in (b"", b"nonsense", marshal.dumps("no code")[:-3]):
        templates.private_files.store(stored.name, key[:32] + nonsense)
        assert rendered(name="world") == "hello world\n"
