"""What a file in `algorithms` may write, read off its syntax: the wall that a Curator cannot be
itself.

Inside one process nothing stops code that is set on finding the records. These rules stop honest
mistakes: a curator is asked by its verbs or handed on, and no private attribute, no records, no
file and no foreign package is used.
"""

import ast

VERBS = {
    "measure",
    "measure_sample",
    "select",
    "above_threshold",
    "draw_queries",
    "keep_draws",
    "draw_parameter",
}
ASKED = {*VERBS, "can_afford"}
NAMES = {
    "getattr",
    "setattr",
    "delattr",
    "vars",
    "globals",
    "locals",
    "eval",
    "exec",
    "compile",
    "open",
    "__import__",
}
ATTRIBUTES = {
    "answers_of_rows",
    "encode",
    "group",
    "load",
    "loadtxt",
    "genfromtxt",
    "fromfile",
    "memmap",
    "save",
}
ATTRIBUTES |= {
    "savez",
    "savetxt",
    "tofile",
    "dump",
    "ctypes",
    "seterr",
    "seterrcall",
    "errstate",
    "setflags",
}
HOLDING = {
    "curator",
    "curator_of_problem",
    "table_curator",
    "point_curator",
    "risk_curator",
    "column_curator",
}  # they hold rows
PACKAGES = {
    "math",
    "numpy",
    "collections",
    "collections.abc",
    "dataclasses",
    "functools",
    "itertools",
    "typing",
}
PACKAGES |= {"scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special"}


def find_breaches(tree):
    """What a file writes that it may not, each with its line."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    holders = {
        a.arg for a in ast.walk(tree) if isinstance(a, ast.arg) and "Curator" in ast.unparse(a)
    } | {"curator"}
    return [
        f"line {node.lineno}: {ast.unparse(node)[:60]}" for node in _wrong(tree, above, holders)
    ]


def _wrong(tree, above, holders):
    for node in ast.walk(tree):
        parent = above.get(node)
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=word) if word not in ATTRIBUTES:
                pass  # its own state
            case ast.Attribute(attr=word, ctx=context):
                private = word[0] == "_" and word != "__name__"
                if private or word in ATTRIBUTES or not isinstance(context, ast.Load):
                    yield node
            case ast.Name(id=word) if word in NAMES or (
                word.endswith("Curator") and not isinstance(parent, ast.arg)
            ):
                yield node
            case ast.Name(id=word, ctx=ast.Load()) if word in holders and not _asked_or_handed_on(
                node, parent, above
            ):
                yield node
            case ast.Import(names=names) if not {n.name for n in names} <= PACKAGES:
                yield node
            case ast.ImportFrom(module=module, level=level, names=names):
                private = any(n.name[0] in "_*" or n.name in HOLDING for n in names)
                more = (module or "").split(".")[-1] in HOLDING and not all(
                    n.name.endswith("Curator") for n in names
                )
                if private or more or not (level or module in PACKAGES):
                    yield node


def _asked_or_handed_on(node, parent, above):
    """Whether a curator is asked by one of its verbs, or is an argument of a call."""
    if isinstance(parent, ast.Attribute):
        call = above[parent]
        return parent.attr in ASKED and isinstance(call, ast.Call) and call.func is parent
    return isinstance(parent, ast.keyword) or (
        isinstance(parent, ast.Call) and parent.func is not node
    )
