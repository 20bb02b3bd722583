"""From the syntax tree to typed IR: declarations, the meaning of every name, types.

The order of work: collect global types, collect each machine's names, then resolve bodies.
Declarations may come in any order, except where the language gives order a meaning.
"""
