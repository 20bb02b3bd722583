"""``pytest -m gem5 --gem5-root DIR``: the protocols of a gem5 v24.0 checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gem5.checkout import DRIVERS, PROTOCOLS


@pytest.fixture(scope="session")
def gem5_root(request: pytest.FixtureRequest) -> Path:
    """The checkout that ``--gem5-root`` names; without one the test is skipped."""
    given = request.config.getoption("--gem5-root")
    if given is None:
        pytest.skip("needs a gem5 checkout: --gem5-root DIR")
    root = Path(given)
    if not (root / PROTOCOLS).is_dir():
        pytest.fail(f"--gem5-root {root}: there is no {PROTOCOLS} in it", pytrace=False)
    return root


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, gem5_root: Path) -> Path:
    """Each driver of the checkout in turn; one that it lacks is skipped, by name."""
    path = gem5_root / DRIVERS[request.param]
    if not path.exists():
        pytest.skip(f"{gem5_root} has no {DRIVERS[request.param]}")
    return path
