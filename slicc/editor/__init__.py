"""What an editor asks of protocols while they are written."""
