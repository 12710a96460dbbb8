"""The store in a PostgreSQL database, which several machines share; needs the extra `cluster`."""
