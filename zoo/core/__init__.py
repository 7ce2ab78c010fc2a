"""Shared by all packages of the host: errors, paths, console, files, downloads, YAML rows."""
