"""The projects of the user."""
