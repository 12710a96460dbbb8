"""The dashboard and the HTTP API: a face for what `project` can do."""
