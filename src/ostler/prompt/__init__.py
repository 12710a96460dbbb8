"""Prompts of agents, and the reading of their answers and reports."""
