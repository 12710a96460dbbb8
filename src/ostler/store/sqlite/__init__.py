"""The store in one SQLite file of the project."""
