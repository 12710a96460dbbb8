"""Clients for model APIs; the module of a provider is imported on first use."""
