"""The verifier as one file that stands alone, with a copy of all that it imports from this program."""

import inspect
import re
from types import ModuleType

from ...core.errors import written_out
from . import content_checks, document_checks, json_claims, origin_words, recount, release_folder, verifier

# each imports from those before it only
PARTS = (
    recount,
    origin_words,
    json_claims,
    release_folder,
    content_checks,
    document_checks,
)
RELATIVE = re.compile(r"^from \.[\w.]* import (?:\([^)]*\)|[^(\n]*)\n", re.MULTILINE)


def _alone(module: ModuleType) -> str:
    """The source of a module without its docstring and its imports from this program."""
    source = inspect.getsource(module)
    return RELATIVE.sub("", source.replace(f'"""{module.__doc__}"""', "", 1)).strip()


def _standalone() -> str:
    """The source of verify.py: in place of its imports from this program stands what they import."""
    source = inspect.getsource(verifier)
    first_import = RELATIVE.search(source)
    if first_import is None:
        raise ValueError("the verifier imports nothing that it could hold a copy of")
    parts = [inspect.getsource(written_out).strip(), *map(_alone, PARTS)]
    copies = "\n\n\n".join(parts)
    return (
        f"{source[: first_import.start()]}\n{copies}\n\n\n{RELATIVE.sub('', source[first_import.start() :]).lstrip()}"
    )


VERIFIER = _standalone()
