"""What an agent is told, and what its answer says about the work."""
