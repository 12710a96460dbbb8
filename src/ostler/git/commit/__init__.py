"""Commits, trees and diffs of a task's worktree."""
