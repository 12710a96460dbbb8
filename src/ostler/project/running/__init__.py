"""What runs while a run, a worker or a server is active."""
