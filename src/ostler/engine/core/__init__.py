"""Pure decisions and folds: no clock, I/O, asyncio, settings or randomness."""
