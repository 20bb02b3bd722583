"""The error for impossible requests to the tester."""

from __future__ import annotations


class ConfigError(ValueError):
    """A configuration that no valid program has; the message names the setting and the reason."""
