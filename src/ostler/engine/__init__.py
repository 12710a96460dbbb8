"""Runs tasks: the core decides, steps perform, the driver schedules."""
