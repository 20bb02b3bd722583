"""Symbols, scopes, and looking names up."""
