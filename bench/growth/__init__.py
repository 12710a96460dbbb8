"""How Ostler grows: tasks, agents, files, transcripts, events and a day of work. `make growth` runs it."""
