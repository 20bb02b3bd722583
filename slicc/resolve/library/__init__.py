"""The prelude as symbols, and what users add to it."""
