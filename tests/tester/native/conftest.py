"""Fixtures of tests that compile."""

from tests.runtime.native.conftest import place, real

__all__ = ["place", "real"]
