"""Commands that set up and check a project and its machine."""
