"""Optimize a stylized image; train and apply style networks."""
