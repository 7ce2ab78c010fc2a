"""Know the machine, choose backend and stack, build the environment."""
