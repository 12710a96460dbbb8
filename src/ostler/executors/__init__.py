"""One file per agent program: each turns an AgentCall into AgentEvents and a CallResult."""
