"""What the commands share: options, verbs, progress, how they end and what they print then."""
