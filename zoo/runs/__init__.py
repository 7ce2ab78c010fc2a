"""Start, follow, stop, resume and record one execution."""
