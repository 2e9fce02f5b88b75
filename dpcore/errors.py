"""Errors a person can act on."""


class InputError(ValueError):
    """Something a person typed, chose or uploaded cannot be used; the message names it, its value and the limit."""


class BudgetError(InputError):
    """A charge that the budget or the plan does not allow; nothing was touched."""


class OverspendError(BudgetError):
    """A release that a data set's total budget does not allow; nothing was touched or charged."""


class PrivacyWarning(UserWarning):
    """A legal setting that promises less than a reader may think."""


def in_words(error: Exception) -> str:
    """What a person is told of an error that ended a piece of work. Of a bug only its kind: its words may be data."""
    if isinstance(error, FileNotFoundError):
        return "the table is no longer here"
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory for this domain; choose fewer columns or coarser bins"
    return f"unexpected {type(error).__name__}; please report it"
