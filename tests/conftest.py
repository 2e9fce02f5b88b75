"""What several test modules need."""

import pandas as pd
import pytest

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "$E=mc^2$ :red[now]",
    "https://evil.example/a?b",
    "a.b['c']:d\u202e\u200b",
]


@pytest.fixture
def hostile() -> tuple[pd.DataFrame, dict]:
    """A table whose names and values are attacks on a page, and its schema; new for every test."""
    values = ["<b>bold</b>", "**stars** :smile:", "![y](http://evil.example/y.png)", "&lt;i&gt;"]
    frame = pd.DataFrame({name: [values[(i + j) % 4] for i in range(400)] for j, name in enumerate(HOSTILE)})
    schema = {"columns": {name: {"kind": "categorical", "values": values} for name in HOSTILE}}
    return frame, schema
