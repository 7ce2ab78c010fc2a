"""Sweeps: a run for every combination of several values of settings."""
