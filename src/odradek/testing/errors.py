"""What a test has asked for that cannot be."""


class WrongCall(Exception):
    """A fault that cannot be, or a cluster that did not come to what was waited for: why."""
