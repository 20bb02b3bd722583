"""``python -m protocols.defect_digests DRIVER``: digests of the known defects of a text.

For those who describe a protocol (``docs/system.md``): the text at hand is the one that has the
defects of the description that is shipped for its name.
"""

from __future__ import annotations

import sys
from pathlib import Path

from protocols import SYSTEMS
from protocols.compile_cache import generate
from protocols.known_defects import concerned
from runtime.description import load_description
from slicc.compiler import compile


def main(driver: Path) -> None:
    """Print digest and defect, a line each, in the order of the description."""
    front = generate(compile(driver), native=False)
    for defect in load_description(SYSTEMS / f"{driver.stem}.toml").defects:
        print(concerned(defect, front.info, front.bodies), defect.what)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
