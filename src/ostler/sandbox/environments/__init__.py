"""Environments for gates with the dependencies of a lockfile and without the project, for machines without
namespaces; shared by all projects of a user.
"""
