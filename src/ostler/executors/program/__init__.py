"""Runs an agent program that is described by an AgentSpec."""
