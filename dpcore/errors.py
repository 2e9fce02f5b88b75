"""Errors a person can act on. Imports nothing of dpcore."""


class InputError(ValueError):
    """Something a person typed, chose or uploaded cannot be used; the message names it, its value and the limit."""


class BudgetError(InputError):
    """A charge that the budget or the plan does not allow; nothing was touched."""


class PrivacyWarning(UserWarning):
    """A legal setting that promises less than a reader may think."""
