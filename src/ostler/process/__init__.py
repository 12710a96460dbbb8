"""Starts, supervises and stops programs, and makes sure that none of their processes is left."""
