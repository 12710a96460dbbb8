"""Limits of providers: windows, closed windows, cooldowns, and which of them a model's calls meet."""
