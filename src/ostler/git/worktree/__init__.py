"""Creates, reuses and removes the worktrees of tasks."""
