"""What happens to tasks as OpenTelemetry has it: spans and metrics, read from the feed."""
