"""The command line: parse it, print results, and report errors in one place."""
