"""Reviews of a task's work by a person."""
