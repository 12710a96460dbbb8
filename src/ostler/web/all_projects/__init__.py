"""One server for all projects of the user."""
