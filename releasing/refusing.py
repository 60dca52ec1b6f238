"""What a release is refused for."""


class Refused(Exception):
    """A sentence that says why, and what to do."""
