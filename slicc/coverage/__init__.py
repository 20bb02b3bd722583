"""Which transitions of a protocol were made: by campaigns, and by exploration."""
