"""Explain logs: known issues, and how they are matched."""
