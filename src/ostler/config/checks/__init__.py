"""The rules that values of settings must meet."""
