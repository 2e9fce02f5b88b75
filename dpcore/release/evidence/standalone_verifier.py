"""Build the source of the verifier as one standalone file.

With a copy of all that it imports from this program.
"""

import inspect
import re
from types import ModuleType

from ...core.errors import escape_control_chars
from . import (
    content_checks,
    document_checks,
    json_claims,
    origin_words,
    recount,
    release_folder,
    verifier,
)

# each imports from those before it only
COPIED_MODULES = (
    recount,
    origin_words,
    json_claims,
    release_folder,
    content_checks,
    document_checks,
)
RELATIVE_IMPORT = re.compile(r"^from \.[\w.]* import (?:\([^)]*\)|[^(\n]*)\n", re.MULTILINE)


def _source_without_imports(module: ModuleType) -> str:
    """Return a module's source without its docstring and its imports from this program."""
    source = inspect.getsource(module)
    return RELATIVE_IMPORT.sub("", source.replace(f'"""{module.__doc__}"""', "", 1)).strip()


def _standalone_source() -> str:
    """Return the source of verify.py: its imports from this program replaced by their code."""
    source = inspect.getsource(verifier)
    first_import = RELATIVE_IMPORT.search(source)
    if first_import is None:
        raise ValueError("the verifier imports nothing that it could hold a copy of")
    parts = [
        inspect.getsource(escape_control_chars).strip(),
        *map(_source_without_imports, COPIED_MODULES),
    ]
    copies = "\n\n\n".join(parts)
    beginning = source[: first_import.start()]
    remainder = RELATIVE_IMPORT.sub("", source[first_import.start() :]).lstrip()
    return f"{beginning}\n{copies}\n\n\n{remainder}"


VERIFIER_SOURCE = _standalone_source()
