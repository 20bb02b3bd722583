"""The gem5 checkout for the tests that are judged on it."""

from __future__ import annotations

from tests.gem5.conftest import gem5_root as gem5_root
