"""Tests of `gpu.cli.litmus`."""
