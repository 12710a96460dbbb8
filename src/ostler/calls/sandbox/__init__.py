"""The sandbox of one attempt: its files, its network and what it refused."""
