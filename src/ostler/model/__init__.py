"""What flows: frozen values with one line of meaning per field, and no I/O."""
