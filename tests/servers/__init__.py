"""Real servers for tests and scripts: each start is bounded, its port is free, and it leaves no process.

program.py     a server program: start, stop, kill, freeze; its log is printed when it fails
temporal.py    Temporal
postgres.py    PostgreSQL
s3.py          S3, by seaweedfs (an extra of make test-full)
The fixtures temporal_server, postgres_server, postgres_url and s3_server are in tests/conftest.py.
"""
