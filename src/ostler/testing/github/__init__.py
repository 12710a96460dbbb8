"""The parts of the loopback GitHub; use ostler.testing.fake_github."""
