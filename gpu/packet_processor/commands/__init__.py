"""Queues of commands in dwords, PM4 and SDMA: layouts, and what the commands do."""
