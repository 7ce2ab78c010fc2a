"""What every room may use: errors, paths, console, files, downloads, YAML rows."""
