"""Opens the sandbox of an attempt, a gate or a setup command: its files, its proxy and its launcher."""
