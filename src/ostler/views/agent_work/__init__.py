"""What agents did and do."""
