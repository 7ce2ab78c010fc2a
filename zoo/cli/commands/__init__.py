"""One module a verb: `add_parser` declares it, `run` does it. Their tops import the standard library only."""
