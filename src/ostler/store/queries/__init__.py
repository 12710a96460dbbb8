"""Questions about past attempts: last calls, durations, refusals."""
