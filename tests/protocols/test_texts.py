"""A protocol's texts as a value: what leads out of their directory is refused, and they compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import load_protocol, load_texts
from protocols.texts import MAX_BYTES, ProtocolTexts, WrongTexts
from tests.planted.bugs import BY_NAME


@pytest.mark.parametrize(
    "name",
    [
        *("../x.sm", "/etc/passwd", "a/../../x.sm", "C:x.sm", "a\\x.sm", "", ".", "a//b", "x\n.sm"),
        *("/".join("abcdefghi"), "n" * 256),
    ],
)
def test_names_stay_below_their_directory(name: str) -> None:
    with pytest.raises(WrongTexts, match="no name of a file below its directory"):
        ProtocolTexts("P.slicc", {"P.slicc": "", name: ""})


def test_sizes_and_names_are_checked() -> None:
    with pytest.raises(WrongTexts, match="501 files, 500 are possible"):
        ProtocolTexts("0", {str(number): "" for number in range(501)})
    with pytest.raises(WrongTexts, match="bytes of text"):
        ProtocolTexts("P", {"P": "x" * (MAX_BYTES + 1)})
    with pytest.raises(WrongTexts, match="'Q' is not among its files"):
        ProtocolTexts("Q", {"P": ""})


def test_a_protocol_compiles_from_its_texts_alone(tmp_path: Path) -> None:
    directory = tmp_path / "here"
    directory.mkdir()
    loaded = load_protocol(str(BY_NAME["mi-two-owners"].plant(directory)))
    assert loaded.texts is not None
    assert set(loaded.texts.files) == {
        *("MI.slicc", "MI.toml"),
        *(f"MI-{part}.sm" for part in ("msg", "cache", "dir", "dma")),
    }
    directory.rename(tmp_path / "gone")
    again = load_texts(loaded.texts, loaded.identity)
    assert again.identity == loaded.identity
    assert again.description == loaded.description
    assert load_protocol("MI").texts is None


def test_an_include_of_texts_leads_nowhere_else(tmp_path: Path) -> None:
    secret = tmp_path / "secret.sm"
    secret.write_text("structure(A) { int x; }")
    loaded = load_protocol(str(BY_NAME["mi-two-owners"].plant(tmp_path)))
    assert loaded.texts is not None
    text = loaded.texts.files["MI.slicc"] + f'\ninclude "{secret}";\n'
    files = {**loaded.texts.files, "MI.slicc": text}
    with pytest.raises(ValueError, match="its path is absolute"):
        load_texts(ProtocolTexts("MI.slicc", files), loaded.identity)


def test_the_library_of_its_checkout_is_among_its_texts(tmp_path: Path) -> None:
    """Older texts use what the library of their day had: alone they do not compile."""
    protocols = tmp_path / "src" / "mem" / "protocol"
    protocols.mkdir(parents=True)
    driver = BY_NAME["mi-two-owners"].plant(protocols)
    cache = protocols / "MI-cache.sm"
    text = cache.read_text(encoding="utf-8")
    assert "    DataBlock DataBlk, " in text
    cache.write_text(
        text.replace("    DataBlock DataBlk, ", "    Mood mood; DataBlock DataBlk, ", 1)
    )
    library = protocols / "RubySlicc_Exports.sm"
    library.write_text("enumeration(Mood) { Calm; Cross; }", encoding="utf-8")
    loaded = load_protocol(str(driver))
    assert loaded.texts is not None
    protocols.rename(tmp_path / "gone")
    assert load_texts(loaded.texts, loaded.identity).identity == loaded.identity
