"""Many tasks: the core decides, a driver carries out, the steps touch the world."""
