"""What a task may use, and what protects the user."""
