"""The errors a vector can expect. Their class names are what the vectors say."""


class LimiterError(Exception):
    """A call that was refused before anything was decided."""


class InvalidArgument(LimiterError):
    """The rule exists, but this call of it makes no sense."""


class UnknownRule(LimiterError):
    """No rule has this name."""
