"""The one place that starts or stops a program, and the proof that nothing of it is left."""
