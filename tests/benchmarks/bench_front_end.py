"""Parse to verified IR, beside the reference front end on the same files in the same run.

    python -m tests.benchmarks.bench_front_end --gem5-root DIR [--repeat N]

Each measurement is a process of its own (both front ends are packages named ``slicc``); they take
turns, and the processor time of reading, parsing and resolving counts: no imports, no writing of
code. Theirs parses the library's files as well, ours has them as data; ours also verifies. What
theirs needs of the checkout is copied first, because it writes its parser's table beside itself.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gem5.checkout import DRIVERS, PROTOCOLS

LIMIT = 2.0
"""Ours may take this many times as long as theirs."""

_NEEDED = ("src/mem/slicc", "ext/ply/ply", "build_tools", "src/python/m5/util")
_PATHS = ("ext/ply", "src/mem", "src/python", "build_tools")

_THEIRS = """
import sys, time
driver, base = sys.argv[1:3]
from slicc.parser.parser import SLICC
started = time.process_time()
SLICC(driver, base, verbose=False, debug=False, traceback=True).process()
print(time.process_time() - started)
"""

_OURS = """
import sys, time
from pathlib import Path
from slicc.compiler import LIBRARY_FILES
from slicc.diagnostics.model import DiagnosticSink
from slicc.loading.loader import load
from slicc.resolve.protocol import resolve
from slicc.source import Span
from slicc.ir.verifier import verify
driver = Path(sys.argv[1])
started = time.process_time()
sink = DiagnosticSink()
loaded, = load([driver], [], sink, LIBRARY_FILES)
whole = Span(loaded.sources[0], 0, 0)
assert not verify(resolve(loaded.name, loaded.declarations, (), whole, sink))
assert not sink.error_count
print(time.process_time() - started)
"""


def _copy(root: Path, into: Path) -> None:
    for name in _NEEDED:
        if (root / name).is_dir():
            shutil.copytree(root / name, into / name)


def _seconds(text: str, paths: list[Path], *arguments: Path) -> float:
    program = f"import sys; sys.path[:0] = {[str(path) for path in paths]!r}\n{text}"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise SystemExit(f"{arguments[0]}: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gem5-root", type=Path, required=True, metavar="DIR")
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    options = parser.parse_args()
    base = options.gem5_root / PROTOCOLS
    ours = [Path(__file__).parents[2]]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        _copy(options.gem5_root, Path(folder))
        theirs = [Path(folder) / path for path in _PATHS]
        print(f"{'protocol':24}{'theirs':>8}{'ours':>8}{'ratio':>8}   seconds, medians of pairs")
        for name, path in DRIVERS.items():
            driver = options.gem5_root / path
            if not driver.exists():
                continue
            _seconds(_THEIRS, theirs, driver, base), _seconds(_OURS, ours, driver)  # warm
            pairs = [
                (_seconds(_THEIRS, theirs, driver, base), _seconds(_OURS, ours, driver))
                for _ in range(options.repeat)
            ]
            ratio = statistics.median(mine / other for other, mine in pairs)
            other, mine = (statistics.median(column) for column in zip(*pairs))
            ratios.append(ratio)
            print(f"{name:24}{other:8.3f}{mine:8.3f}{ratio:8.2f}")
    worst = max(ratios)
    print(f"worst ratio {worst:.2f}, limit {LIMIT}")
    raise SystemExit(worst > LIMIT)


if __name__ == "__main__":
    main()
