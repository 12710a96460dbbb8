"""The review of a task as a text for an editor, and on a terminal."""
