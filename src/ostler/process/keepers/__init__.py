"""The small program that owns every agent: it runs with `python -S -E` and knows only the standard library.

Its files import each other by bare name, because it is started by path; the run imports `tree`, `frames` and
`program` as ordinary modules, so these three import nothing of ours.
"""
