"""The small program that owns every agent: isolated, without site packages, only the standard library.

It is started with this package as its only import, so its files name each other relatively and nothing of
ostler; the run imports them as well.
"""
