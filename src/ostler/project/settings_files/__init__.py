"""Changes of settings files by commands."""
