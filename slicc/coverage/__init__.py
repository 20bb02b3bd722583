"""What was tested of a protocol: transitions that were made, mistakes that were found."""
