"""Which values of settings are secret."""
