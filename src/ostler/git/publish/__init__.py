"""Publishes a task's branch: rebase, secret scan, push, pull request or local merge."""
