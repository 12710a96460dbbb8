"""Commands that create and run tasks."""
