"""Self-contained pages to print: style, policy and escaping, shared by all pages of a release.

All text is escaped and stands in <bdi>, so that a hostile column name neither runs nor reorders the line around it.
"""

import html

from ..types import Json

Facts = Json  # of release.json

STYLE = """
body{font:16px/1.45 "Source Sans 3","Source Sans Pro",system-ui,sans-serif}
body{color:#1b1b1b;background:#fff;max-width:46rem;margin:2rem auto;padding:0 1rem}
h1,h2,h3{font-family:"Source Serif 4","Source Serif Pro",Georgia,serif}h1{font-size:1.7rem;margin:0 0 .6rem}
h2{font-size:1.15rem;margin:1.4rem 0 .4rem;border-bottom:1px solid #999}h3{font-size:1rem;margin:1rem 0 .2rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}
th{font-weight:600;width:13rem}tr+tr>*{border-top:1px solid #ddd}.odds{font-size:1.1rem;margin:.8rem 0}
.tag{font-size:.75rem;border:1px solid #666;border-radius:.6rem;padding:0 .4rem;margin-left:.4rem;white-space:nowrap}
code{font-size:.8rem;overflow-wrap:anywhere}td{overflow-wrap:anywhere}
td>:first-child{margin-top:0}td>:last-child{margin-bottom:0}
.tiles{display:flex;flex-wrap:wrap;gap:.5rem 2rem}.tiles b{display:block;font-size:1.3rem;color:#0072b2}
svg{width:100%;height:auto}.next{break-before:page;font-size:.75em}.next th{width:15em}.sign td{height:2.2rem}
@page{size:A4;margin:16mm}
@media screen and (max-width:34rem){th,td{display:block;width:auto}tr>td{border-top:0;padding-bottom:.6rem}}
@media print{body{margin:0;max-width:none;font-size:13px}h2{break-after:avoid}tr{break-inside:avoid}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, body: str) -> str:
    """A whole HTML page; `body` is HTML already, the title is text."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{text(title)}</h1>{body}</body></html>\n"
    )


def text(value: object) -> str:
    """The text, escaped for HTML."""
    return f"<bdi>{html.escape(str(value))}</bdi>"
