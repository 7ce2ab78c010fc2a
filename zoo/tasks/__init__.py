"""The commands that make runs: one package per medium, one module per task and verb, and benchmarks."""
