"""How a text of the user appears in what we write: sources, pages, data, a terminal.

Names of files, folders and machines, descriptions and whatever a file holds may contain any
character. Each module here is one destination and states its rule; nothing else in the project
escapes. Invariant: this package imports nothing of ours and nothing heavy.
"""
