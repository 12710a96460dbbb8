"""How each agent works in a sandbox: its model through the proxy, its files in a private home directory."""
