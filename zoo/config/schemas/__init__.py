"""The settings of each task: types, defaults, meanings and ranges."""
