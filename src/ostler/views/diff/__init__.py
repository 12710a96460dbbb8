"""The changes of a task and their lines."""
