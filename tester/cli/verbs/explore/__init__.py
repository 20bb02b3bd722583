"""The verbs about what can be reached: explorations, scenarios in all their runs, coverage."""
