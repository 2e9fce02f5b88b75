"""A sweep on a real local cluster: identical points, also when a worker is killed midway; and no table in the clear."""

import json
import os
import signal
import time
import warnings

import pytest

from dpcore.algorithms import ALGORITHMS
from dpcore.cli import main
from dpcore.errors import InputError
from dpcore.experiments.cluster import check_address, connect, sweep_on
from dpcore.experiments.sweep import cases, sweep
from dpcore.privacy.accounting.budget import Budget
from tests.cli.files import write_files
from tests.helpers import task

pytestmark = pytest.mark.filterwarnings("ignore")  # the cluster's own


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as local:
            yield local


def told(points):
    """Everything of the points but the clock, whatever order they came in."""
    plain = [{k: v for k, v in p.to_json().items() if k not in ("seconds", "memory")} for p in points]
    return sorted(plain, key=lambda p: json.dumps(p, sort_keys=True))


def planned(problem, rounds=40, seeds=4):
    algorithms = {"dpfw": ALGORITHMS["dpfw"](rounds=rounds), "gaussian_maxent": ALGORITHMS["gaussian_maxent"]()}
    return cases(algorithms, problem, [Budget(e, 1e-6) for e in (0.5, 2.0)], range(seeds))


def test_points_are_identical_to_those_of_this_process(cluster):
    problem, rows = task("3-way of 4")
    waiting = planned(problem)
    client = connect(cluster.scheduler_address)
    try:
        found = list(sweep_on(client, waiting, problem, rows))
    finally:
        client.close()
    assert told(found) == told(sweep(waiting, problem, rows))


def test_a_worker_killed_midway_loses_nothing(cluster):
    problem, rows = task("3-way of 4")
    waiting = planned(problem, rounds=3000, seeds=3)
    client = connect(cluster.scheduler_address)
    try:
        points = sweep_on(client, waiting, problem, rows)
        found = [next(points)]
        victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        found += points
    finally:
        client.close()
    assert len(found) == len(waiting)
    assert told(found) == told(sweep(waiting, problem, rows))


def test_a_worker_that_dies_with_results_nobody_has_read_loses_nothing(cluster):
    problem, rows = task("3-way of 4")
    waiting = planned(problem)
    client = connect(cluster.scheduler_address)
    try:
        points = sweep_on(client, waiting, problem, rows)
        found = [next(points)]
        deadline = time.monotonic() + 30
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(0.5)  # so that all of them are known to have ended
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        time.sleep(1)
        found += points
    finally:
        client.close()
    assert told(found) == told(sweep(waiting, problem, rows))


def test_stopping_early_cancels_what_runs(cluster):
    problem, rows = task("3-way of 4")
    client = connect(cluster.scheduler_address)
    try:
        points = sweep_on(client, planned(problem, rounds=3000, seeds=10), problem, rows)
        next(points)
        points.close()
        deadline = time.monotonic() + 20
        while any(client.processing().values()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(client.processing().values())
    finally:
        client.close()


def test_a_refused_algorithm_becomes_a_point(cluster):
    problem, rows = task("2-way")
    waiting = cases({"gaussian_maxent": ALGORITHMS["gaussian_maxent"]()}, problem, [Budget(1, 0)], range(1))
    client = connect(cluster.scheduler_address)
    try:
        assert [p.state for p in sweep_on(client, waiting, problem, rows)] == ["refused"]
    finally:
        client.close()


def test_the_command_says_what_leaves_and_writes_the_same_numbers(cluster, tmp_path, monkeypatch, capsys):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "c.csv", "--schema", "c.json", "--queries", "marginals:2", "--algorithms", "dpfw,mwem"]
    command += ["--epsilons", "1", "--repeat", "2", "--delta", "1e-6"]
    assert main([*command, "--json", "here.json"]) == 0
    assert main([*command, "--json", "there.json", "--scheduler", cluster.scheduler_address]) == 0
    said = capsys.readouterr().err
    assert "distinct rows of the columns a, b" in said
    assert "can see them" in said
    here, there = (json.loads((tmp_path / name).read_text())["points"] for name in ("here.json", "there.json"))
    assert [{**p, "seconds": 0, "memory": 0} for p in here] == [{**p, "seconds": 0, "memory": 0} for p in there]


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://example.org:8786"]
)
def test_addresses_that_protect_the_table_are_taken(address):
    assert check_address(address) == address


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://10.0.0.1:8786", "in the clear; use tls://"), ("tcp://example.org:8786", "in the clear; use tls://"),
        ("tcp://localhost.example.org:1", "in the clear"), ("127.0.0.1:8786", "is not the address"),
        ("tls://example.org", "is not the address"), ("http://127.0.0.1:1", "is not the address"),
        ("tcp://127.0.0.1:x", "is not the address"), ("", "is not the address"),
    ],
)  # fmt: skip
def test_other_addresses_are_refused(address, message):
    with pytest.raises(InputError, match=message):
        check_address(address)


def test_nobody_at_the_address_is_one_clear_line(tmp_path, monkeypatch, capsys):
    pytest.importorskip("distributed")
    monkeypatch.setattr("dpcore.experiments.cluster.CONNECT_SECONDS", 1)
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "c.csv", "--schema", "c.json", "--queries", "marginals:1", "--algorithms", "dpfw"]
    assert main([*command, "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "no scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'privacy-utility-explorer\[cluster\]'"):
        connect("tcp://127.0.0.1:8786")
