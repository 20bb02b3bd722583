"""Time, messages, buffers."""
