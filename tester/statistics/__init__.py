"""What a protocol costs: statistics over legs, and their renderings for people and programs."""
