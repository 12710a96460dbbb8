"""Other orchestrators beside Ostler, with the same instant agent. `make peers` runs it."""
