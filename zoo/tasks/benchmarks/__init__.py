"""Time operations, networks, the encoder, stacks and the start of a run."""
