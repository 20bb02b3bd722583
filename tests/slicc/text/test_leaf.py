"""The package stands alone: everything else may use it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import slicc.text

ROOT = Path(__file__).parents[3]


def test_it_imports_nothing_of_ours() -> None:
    folder = Path(slicc.text.__file__).parent
    paths = [path.relative_to(folder).with_suffix("") for path in folder.rglob("[a-z]*.py")]
    light = [path for path in paths if path.stem not in ("command_line", "grammar_tables")]
    names = ", ".join(f"slicc.text.{'.'.join(path.parts)}" for path in sorted(light))
    code = (
        f"import {names}, sys\n"
        "heavy = {'jinja2', 'lark', 'numpy', 'rich', 'typer'} & set(sys.modules)\n"
        "import slicc.text.command.command_line, slicc.text.kept.grammar_tables\n"
        "packages = {'slicc', 'runtime', 'tester', 'gpu', 'protocols'}\n"
        "ours = [each for each in sys.modules if each.partition('.')[0] in packages]\n"
        "ours = [each for each in ours if not each.startswith('slicc.text')]\n"
        "assert ours == ['slicc'], ours\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
