"""Many runs that belong together: every combination of the values that settings are given."""
