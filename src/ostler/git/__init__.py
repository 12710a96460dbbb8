"""Git behind one hardened wrapper: worktrees, checkpoints and diffs that run nothing the agent planted."""
