"""The wire formats of the agent programs, one module each, used by the fake agent.

A module has VERSION, MODEL, session_of, unknown_session, taken_session, init, text, tool_started, tool_done,
denied, result and api_error. An interactive one also has receive, one with structured output has fitting
(a value that fits the schema) and answer_with, one with a sandbox has confines. The running fake imports
them, with only the standard library available.
"""
