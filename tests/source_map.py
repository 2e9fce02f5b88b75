"""The project's source as a map from file to text: rules read it, and can be tried on a copy with a
planted breach.
"""

import ast
from functools import cache, cached_property

from tests.size import ROOT

CORE = "dpcore"
PAGES = "pages"
SPOKEN = (".py", ".toml", ".html")  # endings of files that rules read


@cache
def parsed(text):
    return ast.parse(text)


@cache
def nodes_of(text, kind):
    return [node for node in ast.walk(parsed(text)) if isinstance(node, kind)]


@cache
def imports_of(path, text):
    package = path.split("/")[:-1]
    found = set()
    for node in nodes_of(text, (ast.Import, ast.ImportFrom)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            found |= {(module, alias.name) for alias in node.names}
    return found


class Source:
    """The texts of files by their path, such as dpcore/core/errors.py, and what they import from
    each other.
    """

    def __init__(self, texts):
        self.texts = texts

    @classmethod
    def real(cls):
        """The project as it lies on the disk."""
        paths = [ROOT / "app.py", ROOT / "README.md"]
        paths += [
            path
            for top in (CORE, PAGES)
            for path in sorted((ROOT / top).rglob("*"))
            if path.suffix in SPOKEN
        ]
        return cls({path.relative_to(ROOT).as_posix(): path.read_text() for path in paths})

    def with_breach(self, breach):
        """A copy with these texts (by path) planted: a new file each, or more lines at the end of
        one that is there.
        """
        grown = {path: f"{self.texts.get(path, '')}\n{text}\n" for path, text in breach.items()}
        return Source(self.texts | grown)

    @cached_property
    def core(self):
        """The path of each module of dpcore by its name inside, such as privacy.curator."""
        paths = (
            path for path in self.texts if path.startswith(f"{CORE}/") and path.endswith(".py")
        )
        return {self._inside(path): path for path in paths}

    @cached_property
    def pages(self):
        """The paths of all Python files of the pages, and of the app."""
        return [
            path for path in self.texts if path.endswith(".py") and not path.startswith(f"{CORE}/")
        ]

    @staticmethod
    def _inside(path):
        return (
            path.removeprefix(f"{CORE}/")
            .removesuffix(".py")
            .replace("/", ".")
            .removesuffix(".__init__")
        )

    def tree(self, path):
        return parsed(self.texts[path])

    def module(self, name):
        """The tree of a module of dpcore; a KeyError where there is none."""
        return self.tree(self.core[name])

    def nodes(self, kind):
        """(module, node) of every node of a kind in the core."""
        return [
            (name, node)
            for name, path in self.core.items()
            for node in nodes_of(self.texts[path], kind)
        ]

    def imports(self, path):
        """(absolute module, name) of everything imported anywhere in a file; name "" for `import
        module`.
        """
        return imports_of(path, self.texts[path])

    def core_modules(self, path):
        """The modules of dpcore that a file imports, as in `core`."""
        found = set()
        for module, name in self.imports(path):
            if module.split(".")[0] == CORE:
                inside = module.removeprefix(CORE).lstrip(".")
                whole = f"{inside}.{name}".lstrip(".")
                found.add(whole if whole in self.core else inside)
        return found - {""}

    def needs(self, name):
        """The modules of dpcore that a module of dpcore imports."""
        return self.graph[name]

    @cached_property
    def graph(self):
        return {name: self.core_modules(path) for name, path in self.core.items()}

    def packages(self, path):
        return {module.split(".")[0] for module, _ in self.imports(path)}

    def users(self, module):
        """The modules of dpcore that import this one."""
        return {name for name in self.core if module in self.needs(name)}

    def importers(self, module, name):
        """The modules of dpcore that import one name of a module, or the module as a whole."""
        exact = {(f"{CORE}.{module}", name), (f"{CORE}.{module}", "")}
        above, _, last = f"{CORE}.{module}".rpartition(".")
        exact.add((above, last))
        return {file for file, path in self.core.items() if self.imports(path) & exact}

    def naming(self, *names):
        """The modules of dpcore that import one of these names, from wherever."""
        return {
            file
            for file, path in self.core.items()
            if {*names} & {name for _, name in self.imports(path)}
        }

    def callers(self, *names):
        """The modules of dpcore that call one of these, as a name or as an attribute of a module."""
        calls = ((file, call.func) for file, call in self.nodes(ast.Call))
        return {
            file
            for file, func in calls
            if getattr(func, "id", getattr(func, "attr", None)) in names
        }

    def defines(self, module, name):
        """Whether a module has a class, a function or a constant of this name at its top."""
        for node in self.module(module).body if module in self.core else []:
            if getattr(node, "name", None) == name:
                return True
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            if any(getattr(target, "id", None) == name for target in targets):
                return True
        return False

    def reach(self, *modules):
        """The modules that these reach by imports, themselves included; a KeyError for one that
        does not exist.
        """
        reached = set()
        waiting = list(modules)
        for name in modules:
            self.core[name]
        while waiting:
            name = waiting.pop()
            if name in self.core and name not in reached:
                reached.add(name)
                waiting += self.needs(name)
        return reached

    def lines(self, modules):
        return sum(len(self.texts[self.core[name]].splitlines()) for name in modules)


def room(name):
    return name.split(".")[0]
