"""Workloads against an explicit m × k matrix built cell by cell; their widths, labels and refusals."""

import itertools

from dpcore import Marginals, domain_from_json
from tests.helpers import binned, categorical, codes, domain_of, refused, signs, within

FOUR = codes(3, 2, 4, 2)
WORKLOADS = {
    "1-way": (FOUR, [["a"], ["b"], ["c"], ["d"]]),
    "3-way": (FOUR, list(itertools.combinations("abcd", 3))),
    "whole": (FOUR, [["d", "c", "b", "a"]]),
    "mixed": (FOUR, [["c", "a"], ["b"], ["d", "b", "a"], ["a", "b", "c", "d"], ["d", "c"]]),
    "sizes of 1": (codes(1, 3, 1, 2), [["a"], ["c", "b"], ["d", "a", "c"]]),
    "one column": (codes(7), [["a"]]),
    "long rows": (codes(2, 3, 100), [["a"], ["c"], ["b", "a"], ["a", "c"]]),  # the other way of summing
}


def test_labels_name_columns_and_values_in_the_order_of_the_domain():
    domain = domain_of(
        {
            "age": binned("integer", 17, 25, 90),
            "sex": categorical("<b>", "m", missing="category"),
        }
    )
    workload = Marginals(domain, [["sex", "age"], ["sex"]])
    assert workload.label(0) == (("age", "17–24"), ("sex", "<b>"))
    assert workload.label(5) == (("age", "25–90"), ("sex", "(missing)"))
    assert workload.label(6) == (("sex", "<b>"),)
    labels = [workload.label(j) for j in range(workload.m)]
    assert len(set(labels)) == workload.m == 9
    assert signs(FOUR, 3).label(2) == (("query", "2"),)


def test_a_workload_of_countless_tables_is_refused_before_they_are_listed():
    """Listing (40 choose 20) tables would take days."""
    with within(20), refused("137,?846,?528,?820"):
        Marginals.all(domain_from_json({f"x{i}": 2 for i in range(40)}), 20)
