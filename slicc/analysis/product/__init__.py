"""What can happen to one line: machine states and the messages under way, stepped through the IR."""
