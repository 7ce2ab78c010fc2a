"""What the user types and reads: parse the command line, print results, report errors in one place."""
