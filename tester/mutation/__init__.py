"""How good the tests of a protocol are: its mutants, and which of them a campaign kills."""
