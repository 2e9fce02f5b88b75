"""A schema that is measured uses all that is charged for it, and no more; half its noise is seen."""

import json

from dpcore import Budget
from dpcore.evaluation.audit.schema_transcripts import audit_schema_transcripts
from tests.small_problems import approx, check_command_refused, parametrize, run_command

SHARP = Budget(6.0, 0.1)


def test_the_tables_use_all_that_is_charged_and_most_of_it_is_shown():
    counted, passed = audit_schema_transcripts(SHARP, transcripts=4000)
    assert (counted.kind, passed.kind) == ("noise", "failure")
    assert counted.achievable == approx(counted.promised)
    assert passed.achievable == approx(passed.promised, rel=1e-3)
    assert passed.achievable <= passed.promised == approx(0.025)
    for found in (counted, passed):
        assert found.kept
        assert found.low < found.promised
    assert counted.low > 0.9 * counted.promised
    assert passed.low > 0.5 * passed.promised
    assert (passed.hits[-1], passed.false_alarms[0]) == (1, 0)


def test_the_command_line_plays_it():
    asked = ["audit", "--algorithm=schema", "--epsilon=6", "--delta=0.1", "--transcripts=1000"]
    said = run_command(asked)
    assert said.count("1000 transcripts") == 2
    assert said.endswith("the promise is consistent with this game\n")
    told = json.loads(run_command(asked, "--json"))
    assert told["kept"]
    assert [t["kind"] for t in told["transcripts"]] == ["noise", "failure"]
    told = json.loads(run_command(asked, "--bug=half-sensitivity", "--json", code=1))
    assert [t["kept"] for t in told["transcripts"]] == [False, False]


@parametrize("extra", [["--delta=0"], ["--runs=100"], ["--set=a=1"]])
def test_what_cannot_be_judged_is_one_line(extra):
    check_command_refused("", "audit --algorithm=schema --delta=0.1", *extra)
