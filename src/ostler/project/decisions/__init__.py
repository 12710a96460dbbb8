"""Parts of the table of actions."""
