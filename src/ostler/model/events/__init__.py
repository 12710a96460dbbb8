"""Events of the journal by subject; event.py has the union."""
