"""Commands that decide about tasks."""
