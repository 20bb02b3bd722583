"""Expressions and statements as C++ text."""
