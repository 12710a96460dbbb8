"""The package indexes that the tools of a project use, so that a sandbox can allow them and nothing else."""
