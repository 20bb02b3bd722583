"""What happens in a run, as one stream of events that every report draws from."""
