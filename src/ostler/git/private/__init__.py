"""The git directory of a task inside its sandbox: created from the user's repository, imported as data."""
