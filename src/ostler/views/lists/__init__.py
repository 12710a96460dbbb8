"""What lists of tasks show."""
