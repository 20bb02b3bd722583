"""Compute units with a clock whose fetch and issue run as native code, ahead of their waves."""
