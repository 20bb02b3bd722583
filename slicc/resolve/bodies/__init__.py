"""Statements and expressions, resolved."""
