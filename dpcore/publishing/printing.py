"""Pages to print, each whole in one file, from the templates in the folder beside this file.

Every value that a template shows is escaped and stands in <bdi>, so that a hostile column name neither runs nor
reorders the line around it.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..types import Json

Facts = Json  # of release.json
TEMPLATES = Path(__file__).with_name("templates")


def page(template: Path, **values: object) -> str:
    """A whole HTML page: a template that extends `frame.html`, filled in with `values`."""
    pages = Environment(
        loader=FileSystemLoader([template.parent, TEMPLATES]), autoescape=True, finalize=_isolated,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return pages.get_template(template.name).render(values) + "\n"


def _isolated(value: object) -> Markup:
    """The value escaped, and apart from the text around it; what is HTML already stays as it is."""
    return value if isinstance(value, Markup) else Markup("<bdi>{}</bdi>").format(value)
