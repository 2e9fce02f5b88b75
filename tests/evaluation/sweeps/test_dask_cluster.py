"""A sweep on a real local cluster: identical points, and no table in the clear."""

import itertools
import os
import warnings
from contextlib import closing
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from dpcore import domain_from_json, read_json
from dpcore.data.sources.parquet_source import ParquetSource
from dpcore.evaluation.sweeps.dask_cluster import ClusterSource, check_address, connect_to_scheduler
from tests.small_problems import (
    check_command_refused,
    expect_error,
    module_fixture,
    parametrize,
    run_command,
    seeded,
    write_json,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the cluster's own
    pytest.mark.flaky(reruns=1),  # processes are waited for, which a busy machine may outlast
]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A worker may take longer to start than somebody at a desk would wait."""
    monkeypatch.setattr("dpcore.evaluation.sweeps.dask_cluster.CONNECT_SECONDS", 60)


def workers(count):
    """A cluster of processes on this machine."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        host="127.0.0.1",
    )


@module_fixture
def cluster():
    """Two workers; afterwards the environment is as before, in which a cluster limits threads."""
    with mock.patch.dict(os.environ), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with workers(2) as local:
            yield local


@module_fixture
def parts(tmp_path_factory):
    """A wide table in forty row groups, and its domain."""
    path = tmp_path_factory.mktemp("parts") / "t.parquet"
    codes = seeded(0).integers(0, 20, (200_000, 8)).astype(np.uint8)
    pd.DataFrame(codes, columns=list("abcdefgh")).to_parquet(path, row_group_size=5_000)
    return ParquetSource(path), domain_from_json(dict.fromkeys("abcdefgh", 20))


def counted_on(cluster, parts, progress):
    source, domain = parts
    tables = list(itertools.combinations(range(8), 3))
    with closing(connect_to_scheduler(cluster.scheduler_address)) as client:
        found = ClusterSource(source, client).count(
            domain, tables, lambda rows, _: progress(client, rows)
        )
    here = source.count(domain, tables)
    assert found.n == here.n == 200_000
    assert all((found.tables[axes] == here.tables[axes]).all() for axes in tables)


def test_a_table_counted_on_a_cluster_has_the_counts_of_this_process(cluster, parts):
    seen = []
    counted_on(cluster, parts, lambda _client, rows: seen.append(rows))
    assert seen == sorted(seen)


def test_what_a_schema_refuses_on_a_cluster_is_said_and_counting_there_can_be_stopped(
    cluster, parts
):
    source, domain = parts

    def enough(*_):
        raise TimeoutError

    with closing(connect_to_scheduler(cluster.scheduler_address)) as client:
        with expect_error("t.parquet, row group .*: column 'a': .* is outside 0..4"):
            ClusterSource(source, client).count(domain_from_json({"a": 5}), [(0,)])
        with pytest.raises(TimeoutError):
            ClusterSource(source, client).count(domain, [(0,)], enough)


def on_both(asked, cluster, capsys):
    """What a sweep on the cluster says, and its points, which are those of this process but for
    clock and memory.
    """
    found = []
    for scheduler in ([], ["--scheduler", cluster.scheduler_address]):
        run_command(f"sweep {asked} --epsilons 1 --json points.json", *scheduler)
        found.append([p | {"seconds": 0, "memory": 0} for p in read_json("points.json")["points"]])
    assert found[0] == found[1]
    return capsys.readouterr().err, found[0]


def test_a_sweep_on_parts_is_counted_by_the_cluster(cluster, parts, here, capsys):
    write_json("t.json", dict.fromkeys("abcdefgh", 20))
    path = str(parts[0].path)
    asked = (
        f"{path} --schema t.json --queries marginals:1 --algorithms residual --repeat 1 --stream"
    )
    said, points = on_both(asked, cluster, capsys)
    assert f"read {path} themselves" in said
    assert "counts of 8 tables of the columns a, b" in said
    assert points[0]["state"] == "done"


def test_the_command_says_what_leaves_and_writes_the_same_numbers(cluster, here, capsys):
    asked = (
        "c.csv --schema c.json --queries marginals:2 --algorithms dpfw,gaussian_maxent "
        "--repeat 2 --delta 0"
    )
    said, points = on_both(asked, cluster, capsys)
    assert [p["state"] for p in points] == ["done", "done", "refused", "refused"]
    assert "distinct rows of the columns a, b" in said
    assert "can see them" in said


@parametrize(
    "address",
    ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://example.org:8786"],
)
def test_addresses_that_protect_the_table_are_taken(address):
    assert check_address(address) == address


@parametrize(
    "address, message",
    {
        "tcp://10.0.0.1:8786": "in the clear; use tls://",
        "tcp://example.org:8786": "in the clear; use tls://",
        "tcp://localhost.example.org:1": "in the clear",
        "127.0.0.1:8786": "is not the address",
        "tls://example.org": "is not the address",
        "http://127.0.0.1:1": "is not the address",
        "tcp://127.0.0.1:x": "is not the address",
        "": "is not the address",
    }.items(),
)
def test_other_addresses_are_refused(address, message):
    with expect_error(message):
        check_address(address)


def test_nobody_at_the_address_is_one_clear_line(here, monkeypatch):
    monkeypatch.setattr("dpcore.evaluation.sweeps.dask_cluster.CONNECT_SECONDS", 1)
    command = [
        "sweep",
        "c.csv",
        "--schema",
        "c.json",
        "--queries",
        "marginals:1",
        "--algorithms",
        "dpfw",
    ]
    check_command_refused(
        "no scheduler answers at tcp://127.0.0.1:9", command, "--scheduler", "tcp://127.0.0.1:9"
    )


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with expect_error(r"pip install 'privacy-utility-explorer\[cluster\]'"):
        connect_to_scheduler("tcp://127.0.0.1:8786")
