"""Shipped fakes and the executor conformance suite: what Ostler is tested with, for others to use."""
