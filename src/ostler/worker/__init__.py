"""One call, to success or a reasoned give-up."""
