"""Certify a machine: let it do all that the zoo promises, and turn what happened into evidence."""
