"""OpenTelemetry spans and metrics of tasks, made from the feed."""
