"""Commands that create runs: one package per kind of data, one module per task and verb, and benchmarks."""
