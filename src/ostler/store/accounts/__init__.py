"""The limits of accounts, which all projects and processes of a user share."""
