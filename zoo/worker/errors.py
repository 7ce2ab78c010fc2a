"""What the user can mend."""


class RefusalError(Exception):
    """A failure with a message for the user: what is wrong and what was received. Told without a traceback."""
