"""Hand-written tests as text: scenarios and litmus tests, read and printed."""
