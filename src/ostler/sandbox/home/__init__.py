"""The private home directory of a task: the user's settings, without keys and without what they start."""
