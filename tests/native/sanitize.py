"""Short campaigns on native code that was compiled with sanitizers for addresses and behaviour.

Run by hand or by CI: ``python -m tests.native.sanitize``. The sanitizers' libraries have to be in
the process before anything else, so every campaign is a command of its own.
Invariant: a report of a sanitizer, or a campaign that fails, is a failure of this command.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

PROTOCOLS: Final = ("MI", "GPU_VIPER")
_FLAGS: Final = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
_TIME_LIMIT: Final = 900


def libraries(compiler: str) -> list[str]:
    """The sanitizers' libraries of that compiler. Raises SystemExit if it has none."""
    found = []
    for name in ("libasan.so", "libubsan.so"):
        command = [compiler, f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if path == name:
            raise SystemExit(f"{compiler} has no {name}")
        found.append(path)
    return found


def campaign(protocol: str, episodes: int, seed: int, compiler: str) -> subprocess.Popen[str]:
    """The command, started."""
    environment = {
        **os.environ,
        "CXX": f"{compiler} {_FLAGS}",
        "LD_PRELOAD": " ".join(libraries(compiler)),
        # Python itself leaves much behind when it ends.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    words = ["-p", protocol, "--episodes", str(episodes), "--seed", str(seed), "--quiet"]
    return subprocess.Popen(
        [sys.executable, "-m", "tester.cli", "--engine", "native", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--episodes", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiler", default="g++")
    chosen = parser.parse_args()

    def judged(protocol: str) -> bool:
        process = campaign(protocol, chosen.episodes, chosen.seed, chosen.compiler)
        output, _ = process.communicate(timeout=_TIME_LIMIT)
        print(f"{protocol}: exit status {process.returncode}\n{output}", flush=True)
        return process.returncode == 0

    with ThreadPoolExecutor(len(PROTOCOLS)) as pool:
        if not all(list(pool.map(judged, PROTOCOLS))):
            raise SystemExit("the sanitizers, or a campaign, found something")


if __name__ == "__main__":
    main()
