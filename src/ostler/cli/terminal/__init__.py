"""What is printed to a terminal: text, tables, progress, logs and errors."""
