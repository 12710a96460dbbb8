"""What tasks leave for people to read."""
