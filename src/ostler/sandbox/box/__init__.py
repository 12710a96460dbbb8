"""The sandbox of a program: what it sees, the self-test, and how each tier starts it."""
