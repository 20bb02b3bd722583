"""Expressions and statements as Python text."""
