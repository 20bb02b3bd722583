"""Requests from a file: a table of who accesses what, made into a leg like any other."""
