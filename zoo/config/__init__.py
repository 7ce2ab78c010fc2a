"""Typed settings, and their composition by Hydra."""
