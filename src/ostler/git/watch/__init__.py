"""What changed in the user's repository while an agent ran: refs, settings, hooks and exclude patterns."""
