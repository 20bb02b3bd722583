"""Mistakes of authors, each recognised at the token that the parser refuses."""
