"""Tests of ports that wait for each other."""
