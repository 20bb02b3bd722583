"""The prelude as symbols, and the extensions of user libraries."""
