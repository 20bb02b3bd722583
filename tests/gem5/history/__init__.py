"""The test of history: faults that gem5's own commits mended, attacked before and after.

Needs a clone of gem5 with its history: ``python -m tests.gem5.history --clone DIR``. Nothing of
gem5 is kept here but commit ids and names of protocols, states and events.
"""
