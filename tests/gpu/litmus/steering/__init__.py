"""Tests of gpu.litmus."""
