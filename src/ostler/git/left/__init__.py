"""Files of a worktree that no commit contains: finds them, and copies them before the worktree is removed."""
