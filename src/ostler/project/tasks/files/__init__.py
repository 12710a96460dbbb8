"""Tasks as files, and the files of tasks."""
