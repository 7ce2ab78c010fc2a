"""Describe the machine, select backend and stack, build the environment."""
