"""Certify a machine: try everything that the zoo promises, and record the results as evidence."""
