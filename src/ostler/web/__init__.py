"""The dashboard and the HTTP API of a project."""
