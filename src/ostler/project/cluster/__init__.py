"""The project's side of a cluster; what talks to the Temporal server is loaded on use."""
