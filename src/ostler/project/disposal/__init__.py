"""Tasks that are put away: archived, removed and purged."""
