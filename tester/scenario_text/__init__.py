"""Scenarios as programs of the tester, and programs as scenarios."""
