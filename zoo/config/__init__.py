"""Typed settings, composed by Hydra."""
