"""Tests of the analysis."""
