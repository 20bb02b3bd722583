"""From the syntax tree to typed IR: who exists, what every name means, what type it has.

The order of work: collect global types, collect each machine's names, then resolve bodies.
Declarations may stand in any order, except where the language gives order a meaning.
"""
