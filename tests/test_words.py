"""All that a person can read speaks by one dictionary, without the words it replaced; no sentence
on a page is long.
"""

import ast
import re
import tomllib
from functools import cache

import pytest

from dpcore.cli import COMMANDS
from tests.source_map import Source

# An error is measured, predicted or promised; a forecast is one of time, which is filled in.
ERROR_WORDS = (
    r"typical(ly)?|foresees?|foreseen?|foretells?|foretold|forecasts?(?!: \{\})|"
    r"expected (an? |the )?(\w+ )?(error|noise|risk|loss|distance)s?"
)
# What the dictionary replaced: by another word, by the reader's question, or by nothing.
OLD = (
    r"private peek|typed by|paid for|charge[sd]?|charging|throws?|replays?|truer|turn private",
    r"off the (records|rows)|have no (cells|combinations)|I know these kinds|what cannot "
    r"be|leaves if|rows? say",
    r"protected by itself|rows of one person, at most|names the person|does it settle|rmse|pay "
    r"most|in common",
    r"sets? aside|this table bear|ask the fitted tables|of algorithm cost|take (it "
    r")?along|ties|tied|spent|borrows?",
    r"nothing is missing|for ever|somebody|anybody|touch(es|ed)?|last "
    r"bits?|told|stands?|(?<!budget )records?",
    r"(?<!wrong )cells?(?![=_/])|workloads?(?!=)|sampling floor",
    ERROR_WORDS,
)
PATTERN = re.compile(rf"\b({'|'.join(OLD)})\b", re.IGNORECASE)
ON_PAGES = re.compile(
    r"\b(seeds?|stages?)\b", re.IGNORECASE
)  # the command line has an option of that name
EXPERTS = {"sampling floor"}  # in the Glossary, beside the reader's words
DRAWN = re.compile(
    r"st-key-|<(path|svg|circle|rect|polyline|text|img|figure)\b|Dictionary\[|\bimport "
    r"[\w(]|export default|[{;] *\w+: "
)
WORDS = 22


def joined(text):
    """The text of an f-string, {} for what is filled in."""
    return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in text.values)


def texts(text):
    """All texts of a Python file that are more than a name, but docstrings, code and drawings."""
    tree = ast.parse(text)
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        if isinstance(node, ast.JoinedStr):
            inside.update(ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found = joined(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            found = node.value
        else:
            continue
        if " " in found.strip() and not DRAWN.search(found):
            yield found


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


@cache
def texts_of(path, text):
    """The texts of a file that speaks to a person."""
    if path.endswith(".py"):
        return list(texts(text))
    if path.endswith(".toml"):
        return leaves(tomllib.loads(text))
    if path.endswith(".html") and path.startswith("dpcore/"):
        return [re.sub(r"\{[{%].*?[%}]\}|<[^>]*>", _quoted, text, flags=re.DOTALL)]
    return [re.sub(r"(?s)```.*?```|`[^`]*`", "", text)] if path == "README.md" else []


def spoken(source):
    """The texts of every file, and of the help of every command."""
    found = {path: texts_of(path, text) for path, text in source.texts.items()}
    for name in COMMANDS:
        found[f"the help of {name}"] = [
            ast.get_docstring(source.module(f"cli.commands.{name.replace('-', '_')}")) or ""
        ]
    return found


def replaced(spoken_texts, room, pattern):
    """The (file, word, text) of every word that the dictionary replaced, in the files of a room."""
    return {
        (name, match[0], text[:90])
        for name, all_ in spoken_texts.items()
        if name.startswith(room)
        for text in all_
        if text not in EXPERTS
        for match in pattern.finditer(text)
    }


SOURCE = Source.real()
SPOKEN = spoken(SOURCE)
ROOMS = ("dpcore", "pages", "app.py", "README.md", "the help of")
# A file in each room and form, with a place for a sentence.
PLACES = {
    ("dpcore", "dpcore/planted.py"): "x = '{}'",
    ("dpcore", "dpcore/cli/commands/ask.py"): "x = f'{{y}} {}'",
    ("dpcore", "dpcore/planted.toml"): "[a]\nb = ['{}']",
    ("dpcore", "dpcore/planted.html"): "<p title='x'>{{% if a %}}{}</p>",
    ("pages", "pages/planted.py"): "def f():\n    show('{}')",
    ("pages", "pages/planted.toml"): "a = '{}'",
    ("app.py", "app.py"): "x = '{}'",
    ("README.md", "README.md"): "{}",
}
# A sentence for each line of OLD, and for ON_PAGES.
SENTENCES = (
    "This is a private peek.",
    "What cannot be is here.",
    "Every row is protected by itself.",
    "It was set aside for now.",
    "No one touches the last bits.",
    "All cells of the workload.",
    "The typical error was foreseen.",
)


@pytest.mark.parametrize(
    "room, pattern",
    [*((room, PATTERN) for room in ROOMS), ("pages", ON_PAGES)],
    ids=[*ROOMS, "seeds"],
)
def test_nobody_reads_a_word_that_the_dictionary_replaced(room, pattern):
    said = replaced(SPOKEN, room, pattern)
    assert not said, "\n".join(map(str, sorted(said)))


@pytest.mark.parametrize(
    "sentence, is_refused",
    [
        ("The typical error is 8.", True),
        ("Errors are typically small.", True),
        ("An error of 9 was foreseen.", True),
        ("The plan foretells it.", True),
        ("The expected largest error is 3.", True),
        ("This is a forecast of the error.", True),
        ("Forecast: {} for {} runs.", False),
        ("A number was expected here.", False),
        ("The error is predicted.", False),
    ],
)
def test_an_error_is_measured_predicted_or_promised(sentence, is_refused):
    found = replaced({"pages/planted.py": [sentence]}, "pages", PATTERN)
    assert bool(found) == is_refused


@pytest.mark.parametrize("room, path", PLACES)
def test_a_replaced_word_is_found_in_every_form_of_text(room, path):
    for sentence in SENTENCES:
        breach = {path: PLACES[room, path].format(sentence)}
        found = replaced(spoken(SOURCE.with_breach(breach)), room, PATTERN)
        assert {name for name, _, _ in found} == {path}, sentence


def test_every_line_of_replaced_words_finds_its_sentence_and_the_help_is_read():
    for words, sentence in zip(OLD, SENTENCES, strict=True):
        assert re.search(rf"\b({words})\b", sentence, re.IGNORECASE)
    assert replaced({"pages/planted.py": ["Choose a seed here."]}, "pages", ON_PAGES)
    path = SOURCE.core["cli.commands.ask"]
    changed = Source(
        SOURCE.texts | {path: SOURCE.texts[path].replace('"""', '"""All records. ', 1)}
    )
    assert replaced(spoken(changed), "the help of", PATTERN)


def long_sentences(text):
    """The sentences of more words than a reader holds in mind."""
    sentences = re.split(r'(?<=[.!?;])["”)*’]*\s+|\n', text)
    return [
        sentence
        for sentence in sentences
        if len(re.findall(r"[\w{}][\w{}’'.,^=/%-]*", sentence)) > WORDS
    ]


def long_on_pages(spoken_texts):
    """The (file, sentence) of every long sentence on a page."""
    return {
        (name, sentence)
        for name, all_ in spoken_texts.items()
        if name.startswith("pages")
        for text in all_
        for sentence in long_sentences(text)
    }


def test_no_sentence_on_a_page_is_long():
    long = long_on_pages(SPOKEN)
    assert not long, "\n".join(map(str, sorted(long)))


@pytest.mark.parametrize("room, path", [place for place in PLACES if place[0] == "pages"])
def test_a_long_sentence_is_found(room, path):
    sentence = f"{'word ' * WORDS}end."
    breach = {path: PLACES[room, path].format(f"Short. {sentence}")}
    assert long_on_pages(spoken(SOURCE.with_breach(breach))) == {(path, sentence)}
