"""How each agent program talks: one module per wire format, played by the fake agent.

A module has VERSION, MODEL, session_of, unknown_session, taken_session, init, text, tool_started, tool_done,
denied, result and api_error; one that is talked with also has receive, one that can be held to a schema has
fitting (a value for it) and answer_with, one with a sandbox has confines. Imported by the running fake, where
only the standard library is there.
"""
