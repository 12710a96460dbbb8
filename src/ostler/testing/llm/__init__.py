"""The parts of ostler.testing.fake_llm; import from there."""
