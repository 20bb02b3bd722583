"""Tests of slicc.scenario_text."""
