"""The heart: pure decisions. No clock, no I/O, no asyncio, no settings, no randomness."""
