"""The parts of the fake GitHub; import them from ostler.testing.fake_github."""
