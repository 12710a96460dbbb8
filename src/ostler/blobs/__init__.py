"""Files of tasks in a directory or in S3, where all machines of a cluster find them."""
