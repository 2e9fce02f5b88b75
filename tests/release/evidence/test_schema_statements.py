"""Whatever a schema may state of its file and columns, a release of it is found sound."""

import pickle
import re
import shutil
import subprocess
import sys

import pytest

from dpcore import read_table
from dpcore.cli import main
from dpcore.release.evidence.json_claims import SCHEMA_CHECK
from dpcore.release.evidence.printing import TEMPLATES
from dpcore.release.evidence.recount import WrongError
from dpcore.schema.schema_json import COLUMN_KEYS, domain_from_json, domain_to_json
from tests.small_problems import parametrize, seeded, write_json

SCHEMA = {
    "columns": {
        "age": {
            "kind": "integer",
            "low": 20,
            "high": 89,
            "bins": 7,
            "missing": "category",
            "missing_codes": [-9, "refused"],
            "unreadable": "missing",
            "out_of_range": "clip",
        },
        "sex": {
            "kind": "categorical",
            "values": ["Male", "F"],
            "same": {"Male": ["M", "m"]},
            "ordered": True,
        },
        "fee": {
            "kind": "numeric",
            "edges": [0, 10, 2000],
            "read": "amount, decimal comma",
            "form": "€ 1.000,00",
        },
        "left": {
            "kind": "integer",
            "low": "2001-01-01",
            "high": "2001-12-31",
            "bins": "months",
            "read": "date of d/m/y",
            "form": "D.M.YY",
        },
        "seen": {
            "kind": "numeric",
            "edges": ["2001-01-01", "2001-01-01T12:30", "2001-01-03"],
            "read": "date and time of y-m-d",
        },
        "born": {
            "kind": "integer",
            "low": 1940,
            "high": 1999,
            "read": "year of d/m/y",
            "first_year": 1930,
        },
    },
    "file": {"delimiter": ";", "header": 2, "header_lines": 2, "skip_end": 1, "spaces": "after"},
}
INPUT_ONLY_KEYS = {"bins", "size"}  # which a schema that is written says by edges, low and high
ROWS = "".join(
    f"{20 + i % 60 if i % 9 else -9};{'MmF'[i % 3]};1.2.{40 + i % 50};€ 1.{i:03d},50;3.{1 + i % 9}.01;"
    "2001-01-02\n"
    for i in range(300)
)
TEXT = f";;;;;\nage;sex;born;fee;left;seen\n{ROWS}Total;300;\n"


def test_a_schema_that_states_all_that_one_can_is_known_to_the_verifier():
    written = domain_to_json(domain_from_json(SCHEMA))
    keys = set().union(*written["columns"].values())
    assert keys == COLUMN_KEYS - INPUT_ONLY_KEYS, "a new statement belongs into this test"
    SCHEMA_CHECK(written, "schema")


def test_columns_that_were_read_and_written_can_be_sent_to_a_worker(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    domain = domain_from_json(SCHEMA)
    rows = domain.encode(read_table(str(tmp_path / "t.csv"), format=domain.file))
    written = domain.decode_rounded(rows.values, seeded(0))
    sent = pickle.loads(pickle.dumps(domain))
    assert sent.decode_rounded(rows.values, seeded(0)).equals(written)


@parametrize("entry", [{"missing_codes": [[1]]}, {"same": {"F": [1]}}, {"same": ["F"]}])
def test_a_statement_of_another_form_is_refused(entry):
    written = domain_to_json(domain_from_json(SCHEMA))
    written["columns"]["sex"] |= entry
    with pytest.raises(WrongError):
        SCHEMA_CHECK(written, "schema")


# Columns that are named like the rows in which the card states what the verifier compares.
CARD_ROWS = re.findall(
    r'<th scope="row">([^{<]+)</th>|row\("([^"]+)"', (TEMPLATES / "card.html").read_text()
)
CARD_NAMES = ["".join(names) for names in CARD_ROWS]
BINARY = {"kind": "categorical", "values": ["0", "1"]}
SCHEMA_OF_CARD_NAMES = {"columns": dict.fromkeys(CARD_NAMES, BINARY)}
TEXT_OF_CARD_NAMES = ",".join(CARD_NAMES) + f"\n{','.join('1' for _ in CARD_NAMES)}" * 9


@parametrize("schema, text", [(SCHEMA, TEXT), (SCHEMA_OF_CARD_NAMES, TEXT_OF_CARD_NAMES)])
def test_a_release_is_sound(tmp_path, monkeypatch, schema, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    write_json(tmp_path / "s.json", schema)
    arguments = "release t.csv --schema s.json --queries marginals:1 --algorithm gaussian_maxent"
    arguments += " --epsilon 1 --delta 1e-6 --ledger l.sqlite --dataset d --out out"
    assert main([*arguments.split(), "--total-epsilon", "3", "--total-delta", "1e-5"]) == 0
    shutil.copy("out/verify.py", "verify.py")
    checked = subprocess.run(
        [sys.executable, "-I", "verify.py", "out", "--ledger", "l.sqlite"],
        capture_output=True,
        text=True,
    )
    assert "FAIL" not in checked.stdout + checked.stderr, checked.stdout
    assert checked.returncode == 0
