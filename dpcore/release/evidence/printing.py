"""Make documents from the templates in the folder beside this file.

Pages to print are whole in one file each. Every value that a page shows is escaped and stands in
<bdi>, so that a hostile column name neither runs nor reorders the line around it.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...core.types import Json

ReleaseFacts = Json  # of release.json
TEMPLATES = Path(__file__).with_name("templates")


def render_page(template: Path, **values: object) -> str:
    """Return a whole HTML page: a template that extends `frame.html`, filled in with `values`."""
    return render_template(template, _isolate, values, autoescape=True)


def render_template(
    template: Path, format_value: Callable[[Any], str], values: Json, *, autoescape: bool = False
) -> str:
    """Return the text of a template filled with `values`; a missing value is an error.

    `format_value` makes of every value what is written.
    """
    return (
        _environment(template.parent, format_value, autoescape)
        .get_template(template.name)
        .render(values)
    )


@cache
def _environment(folder: Path, format_value: Callable[[Any], str], autoescape: bool) -> Environment:
    """Return a reader of the templates of a folder and of the frame.

    It keeps those that it has read.
    """
    return Environment(
        loader=FileSystemLoader([folder, TEMPLATES]),
        autoescape=autoescape,
        finalize=format_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _isolate(value: object) -> Markup:
    """Escape a value and set it apart from the text around it; HTML stays as it is."""
    return value if isinstance(value, Markup) else Markup("<bdi>{}</bdi>").format(value)
