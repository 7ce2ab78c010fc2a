"""Image files and folders, decoded into arrays on disk."""
