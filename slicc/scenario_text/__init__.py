"""The language of scenarios and litmus tests: text to located values, and back."""
