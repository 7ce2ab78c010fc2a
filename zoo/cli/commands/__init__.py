"""One module per verb: `add_parser` declares it, `run` executes it. Top-level imports are standard library only."""
