"""Code shared by all host packages: errors, paths, console, files, downloads, YAML rows."""
