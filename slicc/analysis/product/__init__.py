"""What can happen to one line: machine states and messages under way, stepped through the IR."""
