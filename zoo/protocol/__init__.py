"""Define what the host and the worker agree on: requests, events and environment variables.

Both sides import this package, so it uses the standard library only and runs on Python 3.6.
"""
