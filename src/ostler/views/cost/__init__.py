"""The cost of tasks, of models and over time."""
