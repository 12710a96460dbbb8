"""One attempt of a call: its process, output, liveness and records."""
