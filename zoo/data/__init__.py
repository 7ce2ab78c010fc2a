"""Find, check, decode, cache and split what is trained on."""
