"""Which model a call uses: availability, selection, retries and slots."""
