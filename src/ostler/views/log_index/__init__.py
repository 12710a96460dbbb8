"""Finds places in the attempt logs of a task: by text, and by what the agent did."""
