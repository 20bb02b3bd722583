"""Backends: each is a prepared view of the IR plus templates.

What holds for any language (rules of integers, conditions, effects of bodies) is functions of the
IR in this folder. The two writers of expressions and statements have no common base: both are one
closed `match` over the IR, which mypy checks for completeness, and differ in what is behind each
case. A base for operators alone, which share most, took 34 lines more than it saved.
"""
