"""Fake agents, fake servers and the conformance suite for executors, for Ostler's tests and for yours."""
