"""Rename symbols everywhere they are used, by pyright's language server: python .renames/rename.py SPEC, in the root.

A line of SPEC is `path:qualified.old.name = new_name`. All edits are found on one snapshot of the source and then made at
once. Strings are not renamed: afterwards look for monkeypatch strings and for the texts of planted mutants.
"""

import ast
import json
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import unquote, urlparse

ROOT = Path.cwd()
SERVER = Path(sys.executable).with_name("pyright-langserver")
SETTINGS = {"include": ["dpcore", "pages", "tests", "app.py"], "typeCheckingMode": "off", "pythonVersion": "3.11"}
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
TIMEOUT = 300  # seconds for one answer


class Server:
    """The language server, asked one question at a time."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([SERVER, "--stdio"], cwd=ROOT, **pipes)
        self.number, self.answers = 0, {}
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def read(self):
        while True:
            length = 0
            while line := self.process.stdout.readline().strip():
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            message = json.loads(self.process.stdout.read(length))
            if "method" in message and "id" in message:
                asked = message["method"] == "workspace/configuration"
                settings = {"analysis": {"diagnosticMode": "openFilesOnly"}, "pythonPath": sys.executable}
                result = [settings for _ in message["params"]["items"]] if asked else None
                self.send({"id": message["id"], "result": result})
            elif "id" in message:
                self.answers[message["id"]] = message

    def call(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        end = time.monotonic() + TIMEOUT
        while self.number not in self.answers:
            if time.monotonic() > end:
                raise TimeoutError(method)
            time.sleep(0.005)
        return self.answers.pop(self.number)


def inside(node):
    """The nodes of a definition that are not inside a nested one; heads of nested ones are among them."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop(0)
        yield child
        if not isinstance(child, DEFINITIONS):
            waiting.extend(ast.iter_child_nodes(child))


def bound_at(node, name):
    """The place (line, column) at which a node binds a name; None where it does not."""
    if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
        return node.lineno - 1, node.col_offset
    if isinstance(node, ast.arg) and node.arg == name:
        return node.lineno - 1, node.col_offset
    if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
        return node.end_lineno - 1, node.end_col_offset - len(name.encode())
    return None


def locate(tree, lines, qualified):
    """The place of a symbol's name; KeyError where it is not bound."""
    node = tree
    *parents, last = qualified.split(".")
    for parent in parents:
        node = next((c for c in inside(node) if isinstance(c, DEFINITIONS) and c.name == parent), None)
        if node is None:
            raise KeyError(parent)
    for child in inside(node):
        if isinstance(child, DEFINITIONS) and child.name == last:
            for number in range(child.lineno - 1, child.lineno + 3):
                found = re.search(rf"(?:def|class)\s+({re.escape(last)})\b", lines[number])
                if found:
                    return number, len(lines[number][: found.start(1)].encode())
    places = [place for child in inside(node) if (place := bound_at(child, last))]
    if not places and isinstance(node, ast.ClassDef):
        places = [place for child in ast.walk(node) if (place := bound_at(child, last))]
    if not places:
        raise KeyError(last)
    return min(places)


def main(spec):
    """Find all edits, make them, and print what could not be renamed."""
    config = ROOT / "pyrightconfig.json"
    config.write_text(json.dumps(SETTINGS))
    server, edits, opened, failed = Server(), defaultdict(dict), {}, []
    folder = {"uri": ROOT.as_uri(), "name": "root"}
    able = {"workspace": {"workspaceEdit": {"documentChanges": True}, "configuration": True}}
    server.call("initialize", {"processId": None, "rootUri": ROOT.as_uri(), "workspaceFolders": [folder],
                               "capabilities": able})  # fmt: skip
    server.send({"method": "initialized", "params": {}})
    for line in Path(spec).read_text().splitlines():
        left, new = line.split(" = ")
        path, qualified = left.split(":")
        try:
            if path not in opened:
                text = (ROOT / path).read_text()
                opened[path] = ast.parse(text), text.split("\n")
                item = {"uri": (ROOT / path).as_uri(), "languageId": "python", "version": 1, "text": text}
                server.send({"method": "textDocument/didOpen", "params": {"textDocument": item}})
            tree, lines = opened[path]
            number, column = locate(tree, lines, qualified)
        except (KeyError, OSError, SyntaxError) as error:
            failed.append(f"{line}  # {error}")
            continue
        before = lines[number].encode()[:column].decode()
        position = {"line": number, "character": len(before.encode("utf-16-le")) // 2}
        document = {"uri": (ROOT / path).as_uri()}
        wanted = {"textDocument": document, "position": position, "newName": new}
        result = server.call("textDocument/rename", wanted).get("result") or {}
        changes = result.get("documentChanges", [])
        if not changes:
            failed.append(f"{line}  # not renamed")
        for change in changes:
            file = Path(unquote(urlparse(change["textDocument"]["uri"]).path)).relative_to(ROOT)
            for edit in change["edits"]:
                start, end = edit["range"]["start"], edit["range"]["end"]
                edits[file][start["line"], start["character"], end["character"]] = edit["newText"]
    server.process.kill()
    config.unlink()
    for file, places in edits.items():
        lines = file.read_text().split("\n")
        for (number, start, end), new in sorted(places.items(), reverse=True):
            wide = lines[number].encode("utf-16-le")
            lines[number] = wide[: 2 * start].decode("utf-16-le") + new + wide[2 * end :].decode("utf-16-le")
        file.write_text("\n".join(lines))
    print(f"{sum(map(len, edits.values()))} edits in {len(edits)} files", *failed, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
