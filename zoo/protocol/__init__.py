"""Define the protocol of host and worker: requests, events and environment variables.

Both sides import this package, so it uses only the standard library and runs on Python 3.6.
"""
