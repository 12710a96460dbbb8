"""What a call of an agent needs: prompts, the state file, and the evaluation of its answer."""
