"""Ports through which agents reach memory."""
