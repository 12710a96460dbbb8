"""The performers: each carries out one kind of step, and answers with the event that came of it."""
