"""Tests of the C++ backend."""
