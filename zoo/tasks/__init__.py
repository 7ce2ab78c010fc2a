"""What can be done: one package a medium, one module a task and verb; benchmarks."""
