"""Rules on the source: each is a function from a `Source` to what breaks it, and names breaches
that it must find.
"""

REGISTERED = []


def rule(*breaches):
    """Register a rule with planted breaches, each a table from path to the text that is added
    there.
    """
    assert breaches, "a rule that never finds anything is none"

    def register(check):
        REGISTERED.append((check, breaches))
        return check

    return register


def cases(registered=REGISTERED):
    """(rule, breach) of every planted breach, with a name for each."""
    return {
        f"{check.__name__}-{i}": (check, breach)
        for check, all_ in registered
        for i, breach in enumerate(all_)
    }
