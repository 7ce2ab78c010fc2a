"""Find, check, decode, cache and split data."""
