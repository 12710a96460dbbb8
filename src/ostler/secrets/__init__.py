"""Finds secrets in text and replaces them by [redacted:KIND] before text is recorded or published."""
