"""Mutants of safety lines: each one must be detected by the tests that the table names.

table/         the mutants: symbol, expression, replacement, tests; see its README.md
table.py       reads them
apply.py       replaces one expression in a copy of the package
run.py         runs the named tests on a mutated copy
"""
