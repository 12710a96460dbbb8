"""Tasks of a project: creation, plans, documents, export and worktrees."""
