"""Text files and tables, tokenized into arrays on disk."""
