"""What authors state of every line, as words that the native search evaluates."""
