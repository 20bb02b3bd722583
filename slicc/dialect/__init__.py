"""Protocols written for other versions of the language, read as what they mean today.

`slicc.parser.older_tokens` puts older spellings into today's before the grammar sees them;
``declarations`` does the same with declarations that have moved or were replaced; ``renamed``
lists what has another name today. Everything behind this package knows today's language only.
Invariant: a text of today passes through unchanged, and everything that was changed is reported
once per kind.
"""
