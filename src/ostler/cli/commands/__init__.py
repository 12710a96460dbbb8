"""One module per command: parse the arguments, call the project, print the result."""
