"""A run in the Trace Event format, which Perfetto and chrome://tracing open."""
