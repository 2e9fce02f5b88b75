"""The first chart of a tab: its library is loaded early, and it is painted before the others.

The library that draws charts is two thirds of what a browser loads, and Streamlit asks for it when
the first chart is there: a page names it at once, after all that is needed before.
"""

from pathlib import Path

LIBRARY_FILES = "static/js/PlotlyChart.*.js"  # beside Streamlit's page
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def library_links(streamlit_folder: Path) -> str:
    """Return the links by which a browser loads the chart library early; none if not found."""
    files = sorted(streamlit_folder.glob(LIBRARY_FILES))
    return "".join(
        '<link rel="modulepreload" crossorigin fetchpriority="low" '
        f'href="./{file.relative_to(streamlit_folder).as_posix()}">'
        for file in files
    )
