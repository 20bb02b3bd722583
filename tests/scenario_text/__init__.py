"""Tests of scenario_text."""
