"""The journal of a project in SQLite, and the ledger of limits that its calls share."""
