"""All that a person can read speaks by one dictionary, without the words it replaced; no sentence on a page is long."""

import ast
import re
import tomllib
from importlib import import_module

import pytest

from dpcore.cli import COMMANDS
from tests.size import ROOT

# What the dictionary replaced: by another word, by the reader's question, or by nothing.
OLD = (
    r"private peek|typed by|paid for|charge[sd]?|charging|throws?|replays?|truer|turn private",
    r"off the (records|rows)|have no (cells|combinations)|I know these kinds|what cannot be|leaves if|rows? say",
    r"protected by itself|rows of one person, at most|names the person|does it settle|rmse|pay most|in common",
    r"sets? aside|this table bear|ask the fitted tables|of algorithm cost|take (it )?along|ties|tied|spent|borrows?",
    r"nothing is missing|for ever|somebody|anybody|touch(es|ed)?|last bits?|told|stands?|(?<!budget )records?",
    r"cells?(?![=_/])|workloads?(?!=)|sampling floor",
)
PATTERN = re.compile(rf"\b({'|'.join(OLD)})\b", re.IGNORECASE)
ON_PAGES = re.compile(r"\b(seeds?|stages?)\b", re.IGNORECASE)  # the command line has an option of that name
EXPERTS = {"sampling floor"}  # in the Glossary, beside the reader's words
DRAWN = re.compile(
    r"st-key-|<(path|svg|circle|rect|polyline|text|img|figure)\b|Dictionary\[|\bimport [\w(]|export default|[{;] *\w+: "
)
WORDS = 22


def joined(text):
    """The text of an f-string, {} for what is filled in."""
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in text.values)


def texts(path):
    """All texts of a file that are more than a name, but docstrings, code and drawings."""
    tree, inside = ast.parse(path.read_text()), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        if isinstance(node, ast.JoinedStr):
            inside.update(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = joined(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            text = node.value
        else:
            continue
        if " " in text.strip() and not DRAWN.search(text):
            yield text


def leaves(node):
    """The texts of nested tables and lists, without names and drawings."""
    if isinstance(node, dict):
        node = [part for name, part in node.items() if name != "picture"]
    if isinstance(node, list):
        return [text for part in node for text in leaves(part)]
    return [node] if isinstance(node, str) and " " in node else []


def _quoted(tag):
    """The texts that a tag of a template holds between quotes."""
    return "{} " + " ".join(re.findall('"([^"]*)"', tag[0]))


def sources():
    """The texts of every file that speaks to a person."""
    found = {}
    for path in [*ROOT.glob("dpcore/**/*.py"), *ROOT.glob("pages/**/*.py"), ROOT / "app.py"]:
        found[str(path.relative_to(ROOT))] = list(texts(path))
    for path in [*ROOT.glob("dpcore/**/*.toml"), *ROOT.glob("pages/**/*.toml")]:
        found[str(path.relative_to(ROOT))] = leaves(tomllib.loads(path.read_text()))
    for path in ROOT.glob("dpcore/**/*.html"):
        spoken = re.sub(r"\{[{%].*?[%}]\}|<[^>]*>", _quoted, path.read_text(), flags=re.DOTALL)
        found[str(path.relative_to(ROOT))] = [spoken]
    for name in COMMANDS:
        found[f"the help of {name}"] = [import_module(f"dpcore.cli.{name}").__doc__ or ""]
    prose = re.sub(r"(?s)```.*?```|`[^`]*`", "", (ROOT / "README.md").read_text())
    return found | {"README.md": [prose]}


SOURCES = sources()


ROOMS = ("dpcore", "pages", "app.py", "README.md", "the help of")


@pytest.mark.parametrize(
    "room, pattern", [*((room, PATTERN) for room in ROOMS), ("pages", ON_PAGES)], ids=[*ROOMS, "seeds"]
)
def test_nobody_reads_a_word_that_the_dictionary_replaced(room, pattern):
    said = {(name, match[0], text[:90]) for name, all_ in SOURCES.items() if name.startswith(room) for text in all_
            if text not in EXPERTS for match in pattern.finditer(text)}  # fmt: skip
    assert not said, "\n".join(map(str, sorted(said)))


def long_sentences(text):
    """The sentences of more words than a reader holds in mind."""
    sentences = re.split(r'(?<=[.!?;])["”)*’]*\s+|\n', text)
    return [sentence for sentence in sentences if len(re.findall(r"[\w{}][\w{}’'.,^=/%-]*", sentence)) > WORDS]


def test_no_sentence_on_a_page_is_long():
    long = {(name, sentence) for name, all_ in SOURCES.items() if name.startswith("pages") for text in all_
            for sentence in long_sentences(text)}  # fmt: skip
    assert not long, "\n".join(map(str, sorted(long)))
