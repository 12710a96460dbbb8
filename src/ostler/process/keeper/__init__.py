"""The forker and its keepers: they own every agent process.

The forker runs isolated (`python -I -S`) and imports only this package, so its modules use the standard
library and relative imports. The run imports them as well.
"""
