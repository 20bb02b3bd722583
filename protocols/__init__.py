"""The shipped protocols: ``.sm`` and ``.slicc`` texts with one system description each."""
