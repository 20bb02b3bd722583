"""What all processes of a device share, and what each has of its own."""
