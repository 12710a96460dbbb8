"""The sandbox of a program: its files and network, the self-test, and how each tier starts it."""
