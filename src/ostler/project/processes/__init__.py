"""The processes of agents, gates and setup commands: running ones, and orphans of dead runs."""
