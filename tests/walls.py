"""What a file in `algorithms` may write, read off its syntax: the wall that a Curator cannot be itself.

Inside one process nothing stops code that looks for the records: names, frames and memory are all within reach. So
the words that reach are not allowed, and a curator may only be asked, or passed on to a function that says it takes
one. Honest code meets none of these rules; the hostile snippets of test_boundary.py meet each of them.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

VERBS = {"measure", "measure_sample", "select", "above_threshold", "draw_queries", "keep_draws", "draw_parameter"}
ASKED = {*VERBS, "affords"}
STEPS = ["self", "problem", "plan", "curator", "rng"]
BANNED_NAMES = {
    *("getattr", "setattr", "delattr", "vars", "globals", "locals", "dir", "eval", "exec", "compile", "open"),
    *("input", "breakpoint", "memoryview"),
}
BANNED_ATTRIBUTES = {
    *("answers_of_rows", "encode", "group", "format", "format_map", "tb_frame", "f_locals", "f_globals", "f_back"),
    *("f_builtins", "f_code", "gi_frame", "cr_frame", "ag_frame", "seterr", "seterrcall", "errstate", "load"),
    *("loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "DataSource", "save", "savez"),
    *("savez_compressed", "savetxt", "tofile", "dump", "dumps", "ctypes", "ctypeslib", "setflags", "f2py", "lib"),
    *("testing", "attrgetter"),
}
IMPORTS = {  # all that may come from outside, None for all names
    "collections": {"Counter", "deque"},
    "collections.abc": None,
    "dataclasses": {"dataclass", "field", "replace"},
    "functools": {"cache", "cached_property", "lru_cache", "partial", "reduce"},
    "itertools": None,
    "typing": None,
    "scipy.linalg": None,
    "scipy.optimize": None,
    "scipy.sparse": None,
    "scipy.special": None,
}
DECORATORS = {"dataclass", "property", "classmethod", "staticmethod", "cached_property", "cache", "lru_cache"}
DUNDERS = {"__init__", "__post_init__", "__call__", "__len__", "__iter__", "__str__"}
Takers = Mapping[str, Iterable[str]]  # functions that take a curator: the names of their parameters, "" where not


def takers(trees: Iterable[ast.Module]) -> dict[str, list[str]]:
    """Functions of these files that say that they take a curator: their parameters, with "" for all that is none."""
    found: dict[str, list[str]] = {}
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and any(map(_takes, _parameters(node))):
                own = [a.arg if _takes(a) else "" for a in _parameters(node) if a.arg != "self"]
                before = found.get(node.name, own)
                found[node.name] = [x if x == y else "" for x, y in zip(own, before, strict=False)]
    return found


def breaches(tree: ast.Module, known: Takers) -> list[str]:
    """What a file writes that it may not, each with its line; `known` are the functions that take a curator."""
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = [*_words(tree), *_imports(tree, known), *_bindings(tree, above, known), *_uses(tree, above, known)]
    return [f"line {node.lineno}: {why}" for node, why in found]


def _words(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Names, attributes and texts that reach past the verbs."""
    documented = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and (node.id in BANNED_NAMES or node.id.startswith("__")):
            yield node, f"the name {node.id}"
        if isinstance(node, ast.Attribute):
            inside = isinstance(node.value, ast.Name) and node.value.id == "self"
            if node.attr in BANNED_ATTRIBUTES or (node.attr.startswith("__") and node.attr != "__name__"):
                yield node, f"the attribute {node.attr}"
            elif node.attr.startswith("_") and node.attr != "__name__" and not inside:
                yield node, f"the private attribute {node.attr}"
            if not isinstance(node.ctx, ast.Load) and not inside:
                yield node, f"an assignment to {ast.unparse(node)}"
        if isinstance(node, ast.MatchClass) and any(
            a.startswith("_") or a in BANNED_ATTRIBUTES for a in node.kwd_attrs
        ):
            yield node, "a pattern that reads private attributes"
        text = getattr(node, "value", None) if isinstance(node, ast.Constant) and id(node) not in documented else None
        if isinstance(text, str) and ("__" in text or "_Curator" in text):
            yield node, f"the text {text[:30]!r}"
        if isinstance(node, ast.FunctionDef) and node.name.startswith("__") and node.name not in DUNDERS:
            yield node, f"the method {node.name}"


def _imports(tree: ast.Module, known: Takers) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.name, alias.asname) not in {("math", None), ("numpy", "np")}:
                    yield node, f"the import of {alias.name}"
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            outside = not node.level and IMPORTS.get(node.module or "", set())
            if outside is not None and outside is not False and alias.name not in outside:
                yield node, f"the import of {node.module}.{alias.name}"
            if alias.name == "*" or alias.name.startswith("_") or alias.name in ("sealed", "sealed_domain", "plain"):
                yield node, f"the import of {alias.name}"
            if (node.module or "").endswith("curator") and (alias.name, alias.asname) != ("Curator", None):
                yield node, f"the import of {alias.name} from the curator's file"
            if alias.name == "curator" or alias.asname in {*known, "self", "Curator", "steps"}:
                yield node, f"the import of {alias.name} as {alias.asname}"


def _bindings(tree: ast.Module, above: Mapping[ast.AST, ast.AST], known: Takers) -> Iterator[tuple[ast.AST, str]]:
    """Functions that are something else than they say, and a `self` that is none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            method = isinstance(above[node], ast.ClassDef)
            for place, a in enumerate(_parameters(node)):
                if a.arg in {*known} - {"steps"} or (a.arg == "self" and (place or not method)):
                    yield node, f"a parameter called {a.arg}"
        if isinstance(node, ast.FunctionDef) and node.name == "steps":
            if [a.arg.lstrip("_") for a in _parameters(node)] != STEPS or node.args.vararg or node.args.kwarg:
                yield node, f"steps takes {', '.join(STEPS)}"
            if node.decorator_list:
                yield node, "steps is decorated"
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if not (isinstance(called, ast.Name) and called.id in DECORATORS):
                    yield node, f"the decorator {ast.unparse(decorator)}"
        if isinstance(node, ast.ClassDef) and (node.keywords or (node.name in known)):
            yield node, f"the class {node.name}"
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in {*known, "self", "steps"}:
            yield node, f"an assignment to {node.id}"
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in {*known, "steps"}:
            yield node, f"an assignment to {ast.unparse(node)}"


def _uses(tree: ast.Module, above: Mapping[ast.AST, ast.AST], known: Takers) -> Iterator[tuple[ast.AST, str]]:
    """What is done with a curator, by whatever name, and with its class."""
    annotations = {id(n) for a in _annotations(tree) for n in ast.walk(a)}
    names = {"curator", *(a.arg for node in ast.walk(tree) for a in _parameters(node) if _takes(a))}
    while grown := {n for node in ast.walk(tree) for n in _renamed(node, names)} - names:
        names |= grown
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "Curator" and id(node) not in annotations:
            yield node, "the class Curator, but to say that a parameter is one"
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names):
            continue
        parent, before = above[node], above.get(above[node])
        if isinstance(parent, ast.Attribute):
            called = isinstance(before, ast.Call) and before.func is parent
            if not called or parent.attr not in ASKED:
                yield node, f"{ast.unparse(parent)}, which is no verb that is called"
        elif not _passed(node, parent, before, above, known) and not list(_renamed(parent, names)):
            yield node, f"a curator in {ast.unparse(parent)[:60]}"


def _passed(
    node: ast.AST, parent: ast.AST, before: ast.AST | None, above: Mapping[ast.AST, ast.AST], known: Takers
) -> bool:
    """Whether a curator is handed to a function, of this package or this class, that says that it takes one."""
    call = before if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return False
    callee, own = call.func, list(known.get(getattr(call.func, "id", getattr(call.func, "attr", "")), ()))
    if isinstance(callee, ast.Name) and callee.id == "steps":
        return False
    if isinstance(callee, ast.Attribute) and callee.attr != "steps":
        inside: ast.AST | None = call
        while inside is not None and not isinstance(inside, ast.ClassDef):
            inside = above.get(inside)
        methods = {n.name for n in inside.body if isinstance(n, ast.FunctionDef)} if inside else set()
        if not (isinstance(callee.value, ast.Name) and callee.value.id == "self" and callee.attr in methods):
            return False
    if isinstance(parent, ast.keyword):
        return bool(parent.arg) and parent.arg in own
    place = call.args.index(node)  # type: ignore[arg-type]
    starred = any(isinstance(a, ast.Starred) for a in call.args[:place])
    return not starred and place < len(own) and bool(own[place])


def _renamed(node: ast.AST, names: set[str]) -> Iterator[str]:
    """`c` of `c = curator`."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
        targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
        yield from targets if len(targets) == len(node.targets) else ()


def _parameters(node: ast.AST) -> list[ast.arg]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return []
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def _takes(parameter: ast.arg) -> bool:
    says = parameter.annotation
    return says is not None and "Curator" in (ast.unparse(says), getattr(says, "value", None))


def _annotations(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        says = getattr(node, "annotation", None) or getattr(node, "returns", None)
        if says is not None:
            yield says


def _docstrings(tree: ast.Module) -> set[int]:
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef
    bodies = [n.body for n in ast.walk(tree) if isinstance(n, kinds) and ast.get_docstring(n)]
    return {id(body[0].value) for body in bodies}  # type: ignore[attr-defined]
