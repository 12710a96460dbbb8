"""Runs one call of an agent: attempts on the models of a pool until one succeeds or none is left."""
