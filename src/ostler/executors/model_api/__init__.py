"""Sends prompts to a model API, without an agent program."""
