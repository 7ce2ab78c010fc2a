"""Run workers: start, follow, stop and retry them; launchers, sweeps, scripts and kernels."""
