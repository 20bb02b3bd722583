"""Protocols written for other versions of the language, translated into today's.

`slicc.parser.older_tokens` rewrites older spellings before the grammar reads them; ``declarations``
rewrites declarations that have moved or were replaced; ``renamed`` lists what has been renamed.
Later stages know today's language only. Invariant: a text of today passes through unchanged, and
every kind of change is reported once.
"""
