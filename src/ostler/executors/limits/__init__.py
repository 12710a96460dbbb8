"""Reads limits of providers from events, session files and texts of agents, for every executor."""
