"""What a leg is: a system and a program, drawn of a seed and the leg's number."""
