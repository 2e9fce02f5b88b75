"""Recompute what release.json says about its own files and in words.

`verify.py` holds a copy of this.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from itertools import combinations, pairwise
from typing import Any

from .json_claims import SCHEMA_CHECK, bound_number, strict_json
from .origin_words import EARLIER_RELEASE, REAL_DATA, THIS_RELEASE, describe_bounds
from .recount import (
    RELATIVE_TOLERANCE,
    cost_texts,
    counted_noun,
    odds_bound,
    require,
    right_guess_chance,
)
from .release_folder import (
    DATA_FILES,
    DOCUMENT_FILES,
    NO_FILE,
    REQUIRED_FILES,
    SIGNED,
    AnswersSummary,
    ReleaseFolder,
)

ROW_UNIT = "one row"
PERSON_UNIT_PATTERN = re.compile(
    r"all rows of one person, named by the column (?P<column>.+), at most (?P<most>[1-9][0-9]*), "
    r"chosen by a public "
    r"hash of that person's rows; rows that name nobody count as one person's"
    r"(?P<shared>; everyone counts once: the rows of one person share one vote)?",
    re.DOTALL,
)
GOOD_USE_TOLERANCE = 0.01  # of shares: the tolerance by which a use is called good
GROUP_ERROR_SHARE = 0.1  # the half-width of a group's count as a share of it
COVERED_CELL_SHARE = 0.95  # the share of cells that keeps a width
NORMAL_95_STDDEVS = (
    1.959963984540054  # standard deviations on either side of 95%, of Gaussian and of Laplace noise
)
LAPLACE_95_STDDEVS = -math.log(0.05) / math.sqrt(2)
MAX_UNPACKED_BYTES = 1 << 30  # bytes of the arrays in tables.npz
VERSIONED_PROGRAMS = {"privacy-utility-explorer", "python", "numpy", "scipy"}


def nearly_equal(a: float, b: float) -> bool:
    """Return whether two numbers of two programs are meant to be the same."""
    return abs(a - b) <= RELATIVE_TOLERANCE * max(abs(a), abs(b))


def check_files(folder: ReleaseFolder) -> str:
    """Check that a release has all its signed files, unchanged and regular, and no others.

    Raises WrongError otherwise; returns what was found.
    """
    file_hashes = folder.hashes
    unexpected = sorted(name for name in file_hashes if name not in DATA_FILES | DOCUMENT_FILES)
    require(not unexpected, f"no file of a release: {', '.join(unexpected)[:300]}")
    irregular_files = sorted(
        name
        for name, value in [*file_hashes.items(), (SIGNED, folder.signature_hash)]
        if value == NO_FILE
    )
    require(
        not irregular_files,
        f"a link, a folder or a device in place of a file: {', '.join(irregular_files)}",
    )
    missing_files = sorted(REQUIRED_FILES - file_hashes.keys())
    require(not missing_files, f"missing: {', '.join(missing_files)}")
    signed_hashes = folder.signature["files"]
    differing_files = sorted(
        name
        for name in signed_hashes.keys() | file_hashes.keys()
        if signed_hashes.get(name) != file_hashes.get(name)
    )
    require(not differing_files, f"changed, missing or added: {', '.join(differing_files)[:300]}")
    return f"{len(file_hashes)} files are as they were signed"


def check_claim(folder: ReleaseFolder) -> str:
    """Check that the data files and the schema are those that release.json names.

    Its words say what its numbers say. Raises WrongError otherwise; returns what was found.
    """
    facts = folder.facts
    data_hashes = {name: value for name, value in folder.hashes.items() if name in DATA_FILES}
    differing_files = sorted(
        name
        for name in data_hashes.keys() | facts["files"].keys()
        if data_hashes.get(name) != facts["files"].get(name)
    )
    require(
        not differing_files, f"release.json names other files: {', '.join(differing_files)[:300]}"
    )
    schema = json.dumps(facts["schema"], sort_keys=True).encode()
    require(
        hashlib.sha256(schema).hexdigest() == facts["schema_sha256"],
        "the schema is not the one of its SHA-256",
    )
    unknown = facts["versions"].keys() ^ VERSIONED_PROGRAMS
    require(not unknown, f"versions are of other programs: {', '.join(sorted(unknown))[:200]}")
    _check_schema(folder)
    _check_unit(facts["protects"], facts["schema"]["columns"])
    start = facts["made_by"]["start"]
    require(
        (start is not None) == facts["made_by"]["public_start"],
        "the public start contradicts itself",
    )
    if facts["promise"]["delta"] == 0:
        require(
            "floating" not in facts["made_by"]["noise"],
            "noise in floating point keeps no promise at δ = 0",
        )
    return "release.json names the data files and the schema that are here"


def _check_schema(folder: ReleaseFolder) -> None:
    """Raise WrongError where words or files about the schema contradict it."""
    facts = folder.facts
    schema = facts["schema"]
    bounds = facts["bounds"]
    require(bool(schema["columns"]), "the schema has no columns")
    for name, column in schema["columns"].items():
        range_keys = [column.keys() & {"values", "edges", "low", "high"}]
        require(
            range_keys[0] in ({"values"}, {"edges"}, {"low", "high"}),
            f"column {name[:80]!r} has no one range",
        )
        edges = [bound_number(edge) for edge in column.get("edges", [])]
        if len(edges) > 1 and type(column["edges"][-1]) is str and edges[-2] == edges[-1]:
            edges.pop()  # the last bin is one day, with which it begins and ends
        require(
            all(a < b for a, b in pairwise(edges)),
            f"column {name[:80]!r}: its edges do not rise",
        )
        if "low" in column:
            ends = (bound_number(column["low"]), bound_number(column["high"]))
            require(
                all(end == int(end) for end in ends) and ends[0] <= ends[1],
                f"column {name[:80]!r}: low and high",
            )
    measured = schema.get("measured", [])
    require(set(measured) <= schema["columns"].keys(), "a measured column is not in the schema")
    measured_here = [finding["column"] for finding in facts["measured"]]
    require(
        len(set(measured_here)) == len(measured_here) and set(measured_here) <= set(measured),
        "another column was measured than the schema says",
    )
    require(
        bool(measured_here) == ("schema.json" in folder.hashes),
        "schema.json is there exactly where a schema was measured",
    )
    if measured_here:
        schema_file = strict_json(folder.read("schema.json"), "schema.json")
        SCHEMA_CHECK(schema_file, "schema.json")
        require(schema_file == schema, "schema.json is not the schema of this release")
    _check_provenance(facts, folder.account)
    require(
        bounds == describe_bounds(facts["provenance"]),
        "the words on bounds contradict where they come from",
    )
    if schema.get("peeked"):
        require(
            bool(facts["reason"].strip()),
            "bounds were filled in from the data, and no reason is given",
        )


def _check_provenance(facts: dict, account: dict) -> None:
    """Raise WrongError where a column's origin contradicts the schema, release or account."""
    schema = facts["schema"]
    origins = {item["column"]: item for item in facts["provenance"]}
    require(
        list(origins) == [each["column"] for each in facts["provenance"]],
        "a column has two origins",
    )
    require(
        origins.keys() == schema["columns"].keys(),
        "the columns whose origin is stated are not those of the schema",
    )
    measured_here = {each["column"] for each in facts["measured"]}
    earlier_entries = {row["entry"] for row in account["releases"][:-1]}
    for name, origin in origins.items():
        source = origin["source"]
        entry = origin["entry"]
        column = f"column {name[:80]!r}"
        require(
            (source == REAL_DATA) == bool(schema.get("peeked")),
            f"{column}: whether it was filled in from the data",
        )
        require(
            (source == THIS_RELEASE) == (name in measured_here),
            f"{column}: whether this release measured it",
        )
        is_protected = source in (THIS_RELEASE, EARLIER_RELEASE)
        require(
            is_protected == (name in schema.get("measured", [])),
            f"{column}: whether it was measured with protection",
        )
        require(
            (entry is not None) == (source == EARLIER_RELEASE),
            f"{column}: an entry is that of an earlier release",
        )
        require(
            entry is None or entry in earlier_entries,
            f"{column}: entry {entry} is no earlier release of this account",
        )


def _check_unit(protects: dict, columns: dict) -> None:
    """Raise WrongError where the privacy unit's words contradict its number of rows per person.

    `columns` are those of the schema. A file that does not say what is counted counts rows.
    """
    unit = protects["unit"]
    rows_per_person = protects["rows_per_person"]
    require(rows_per_person <= protects["records"], "a person has more rows than there are")
    person = PERSON_UNIT_PATTERN.fullmatch(unit)
    require(
        unit == ROW_UNIT or person is not None, "it protects something that this file does not know"
    )
    counts_people = protects.get("count") == "people"
    shares_vote = person is not None and person["shared"] is not None
    require(
        counts_people == shares_vote and counts_people == ("row_limit" in protects),
        "it says in one place that everyone counts once, and in another that each row counts",
    )
    if person is not None:
        limit = protects["row_limit"] if counts_people else rows_per_person
        require(
            int(person["most"]) == limit,
            f"it protects {person['most']} rows of a person, and {limit} are counted",
        )
    if counts_people:
        require(rows_per_person == 1, "everyone counts once, and not several times")
    if "person_columns" in protects:
        require(
            counts_people and set(protects["person_columns"]) <= set(columns),
            "columns belong to a person that are none of the schema, or people are not counted",
        )
    if protects.get("row_totals"):
        rows_column = columns.get("rows", {})
        require(
            counts_people
            and rows_column.get("low") == 1
            and rows_column.get("high") == protects["row_limit"],
            "the column rows does not hold how many rows of a person share a vote",
        )
    _check_successions(protects, columns)
    counted = "rows" if person is None else "rows after that choice"
    expected_neighbours = (
        f"tables that differ in {unit}, replaced by any others, and have as "
        f"many {'people' if counts_people else counted}; n is public"
        f"{', the number of rows is not' if counts_people else ''}"
    )
    require(
        protects["neighbours"] == expected_neighbours,
        "the neighbouring tables are not those of whom it protects",
    )


def _check_successions(protects: dict, columns: dict) -> None:
    """Raise WrongError where the `columns` of the schema are not those of pairs that it states."""
    time_column = protects.get("time_column")
    names = protects.get("successions", [])
    holds_pairs = protects.get("count") == "people" and protects["row_limit"] > 1
    require(not names or holds_pairs, "it holds pairs of rows of people who have one at the most")
    is_in_order = time_column is None or (bool(names) and time_column in columns)
    require(is_in_order, "a column of time is none of the schema, or puts nothing in order")
    for name in names:
        first_name = name if time_column is None else f"earlier {name}"
        second_name = f"another {name}" if time_column is None else f"next {name}"
        second_values = columns.get(second_name, {}).get("values", [])
        require(
            {name, first_name} <= set(columns) and "only one row" in second_values,
            f"the schema does not hold the pairs of {name!r} in a person's rows",
        )


def check_promise(folder: ReleaseFolder) -> str:
    """Check that the promise's meaning and cost follow from its events.

    The meaning is a guess, odds and an exception. Raises WrongError otherwise; returns what was
    found.
    """
    promise = folder.facts["promise"]
    epsilon = promise["epsilon"]
    delta = promise["delta"]
    means = promise["means"]
    odds_factor, exception_probability = odds_bound(epsilon, delta)
    expected = {
        "guess": right_guess_chance(promise["reserved"], epsilon, delta),
        "odds": odds_factor,
        "except": exception_probability,
    }
    for name, value in expected.items():
        require(
            nearly_equal(means[name], value), f"{name} = {value:.8g}; {means[name]:.8g} is stated"
        )
    expected_costs = cost_texts(promise["charges"], promise["accounting"])
    require(
        promise["cost"] in expected_costs,
        f"the cost is {min(expected_costs)}; {promise['cost']} is stated",
    )
    return (
        f"a guess is right at most {100 * means['guess']:.4g} times in 100, the odds rise at most "
        f"{odds_factor:.4g} times"
    )


def check_answers(folder: ReleaseFolder) -> str:
    """Check that all numbers about answers and uses follow from answers.csv and tables.npz.

    Raises WrongError otherwise; returns what was found.
    """
    facts = folder.facts
    answers = AnswersSummary(folder)
    utility = facts["utility"]
    records = facts["protects"]["records"]
    require(answers.count == facts["queries"]["count"], f"{answers.count} answers are there")
    stated_errors = facts["errors"]
    errors = answers.errors
    require(
        (stated_errors is None) == (not errors),
        "release.json contradicts answers.csv about standard errors",
    )
    if stated_errors is not None:
        numbers = (stated_errors["answers"], stated_errors["measured"])
        require(
            numbers == (answers.count, len(errors)),
            f"{len(errors)} of {answers.count} answers were measured",
        )
        ends_match = nearly_equal(stated_errors["least"], min(errors)) and nearly_equal(
            stated_errors["most"], max(errors)
        )
        require(ends_match, f"standard errors are from {min(errors):.6g} to {max(errors):.6g}")
    if "learned" in facts:
        return _check_learned(folder, answers)
    variances, column_sizes = _read_variances(folder)
    errors = [0.0, *(_cell_standard_error(axes, variances, column_sizes) for axes in variances)]
    _check_promised(utility, answers, errors)
    _check_predicted(utility)
    noun = counted_noun(facts["protects"])
    _check_uses(utility, _errors_covering_most_cells(variances, column_sizes), records, noun)
    return f"{answers.count} answers, as exact as release.json says"


def _check_learned(folder: ReleaseFolder, answers: AnswersSummary) -> str:
    """Check that learned numbers are those of answers.csv, within the schema's public range.

    Nothing but these numbers may leave with them: no rows, no tables and no error. Raises
    WrongError otherwise; returns what was found.
    """
    facts = folder.facts
    learned = facts["learned"]
    numbers = learned["answers"]
    files = folder.hashes.keys() & DATA_FILES
    require(files == {"answers.csv", "tables.npz"}, "learned numbers leave with other data")
    require(not _read_variances(folder)[0], "learned numbers leave with noisy tables")
    require(facts["queries"]["asked"] == [learned["task"]], "another task was asked")
    require("floating" not in facts["made_by"]["noise"], "learned numbers were drawn with rounding")
    require(
        answers.values == [number["value"] for number in numbers],
        "answers.csv holds other numbers than were learned",
    )
    for number in numbers:
        name = number["name"][:80]
        require(
            number["low"] <= number["value"] <= number["high"],
            f"{name!r} = {number['value']:g} is outside the range that it is drawn from",
        )
    is_of_columns = len(numbers) == 1 or learned["task"].startswith("mean:")
    if is_of_columns and learned["radius"] is None:
        for number in numbers:
            _check_column_range(number, facts["schema"]["columns"])
    utility = facts["utility"]
    claims = (utility["promised"], utility["predicted"], facts["errors"], utility["good_for"])
    require(claims == (None, None, None, []), "an error is claimed of learned numbers")
    _check_uses(utility, [None, None], facts["protects"]["records"], "")
    return f"{len(numbers)} learned number(s), within their public range"


def _check_column_range(number: dict, columns: dict) -> None:
    """Raise WrongError for a number whose range is not that of the column that it is named after.

    Up to the rounding of the range's middle and half its width.
    """
    name = number["name"]
    require(name in columns, f"{name[:80]!r} is no column of the schema")
    column = columns[name]
    require("values" not in column, f"column {name[:80]!r} holds no numbers")
    ends = column["edges"] if "edges" in column else [column["low"], column["high"]]
    low = bound_number(ends[0])
    high = bound_number(ends[-1])
    room = RELATIVE_TOLERANCE * (high - low)
    require(
        abs(number["low"] - low) <= room and abs(number["high"] - high) <= room,
        f"{name[:80]!r} was drawn from another range than the schema's",
    )


def _check_promised(utility: dict, answers: AnswersSummary, errors: list) -> None:
    """Raise WrongError for a promised error that contradicts intervals, or the tables' `errors`."""
    promised = utility["promised"]
    if promised is None:
        return
    possible_limits = [
        min(z * error, 1.0) for error in errors for z in (NORMAL_95_STDDEVS, LAPLACE_95_STDDEVS)
    ]
    require(
        any(nearly_equal(promised, limit) for limit in possible_limits),
        f"no table's noise keeps within {promised:.6g}",
    )
    widest = max(answers.half_widths, default=promised)
    require(
        widest <= promised * (1 + RELATIVE_TOLERANCE),
        f"an answer is off by up to {widest:.6g}, not {promised:.6g}",
    )
    if len(answers.half_widths) == answers.count:  # else what is cut off at 0 or 1 is not known
        require(
            nearly_equal(widest, promised),
            f"19 of 20 answers are within {widest:.6g}, not {promised:.6g}",
        )


def _check_predicted(utility: dict) -> None:
    """Raise WrongError for predicted ranges that are none; only a simulation could tell more."""
    predicted = utility["predicted"]
    if predicted is None:
        return
    for name in ("misplaced", "largest"):
        low, high = predicted[name]
        require(low <= high, f"the predicted {name} error is from {low:g} to {high:g}")
    columns = predicted["table_columns"]
    require(columns is None or columns[0] <= columns[1], "the tables have no number of columns")


def _check_uses(utility: dict, half_widths: list, records: int, noun: str) -> None:
    """Raise WrongError unless a release's uses follow from its noisy tables, as it says.

    Its sentence states what the release is good for, of so many `records`, each called by `noun`.
    """
    require(
        utility["tolerance"] == GOOD_USE_TOLERANCE, f"uses are called good at {GOOD_USE_TOLERANCE}"
    )
    require(
        utility["sentence"] == _sentence_of_uses(utility["good_for"], utility["not_for"], noun),
        "the sentence on use contradicts its own lists",
    )
    expected_uses = [
        _expected_uses(half_widths, z, records, noun)
        for z in (NORMAL_95_STDDEVS, LAPLACE_95_STDDEVS)
    ]  # what noise it is tables.npz does not say
    stated = (utility["good_for"], utility["not_for"], utility["smallest_group"])
    require(stated in expected_uses, f"the noisy tables suit other uses: {expected_uses[0]}"[:300])


def _sentence_of_uses(good_for: list, not_for: list, noun: str) -> str:
    """Return the sentence on what a release is good for; where nothing is, that it is too small."""
    if not good_for and not not_for:
        return "How exact the answers are is not known before they are compared with the table."
    not_for_text = " and ".join(not_for)
    if not good_for:
        return f"Too few {noun} for these questions: {not_for_text}."
    good_for_text = f"Good for: {' and '.join(good_for)}."
    return f"{good_for_text} Not for: {not_for_text}." if not_for else good_for_text


def _errors_covering_most_cells(variances: dict, column_sizes: list) -> list[float | None]:
    """Return the standard error that 95% of the cells of all one- and two-column tables keep.

    One number for tables of one, one for tables of two columns; None where unmeasured.
    """
    varying_axes = [axis for axis in range(len(column_sizes)) if column_sizes[axis] > 1]
    half_widths: list[float | None] = []
    for axis_count in (1, 2):
        axis_sets = list(combinations(varying_axes, axis_count))
        cell_counts = {axes: math.prod(column_sizes[a] for a in axes) for axes in axis_sets}
        errors = sorted(
            (_cell_standard_error(axes, variances, column_sizes), cell_counts[axes])
            for axes in axis_sets
            if axes in variances
        )
        covered_cells = 0
        needed_cells = COVERED_CELL_SHARE * sum(cell_counts.values())
        half_width = None
        for error, count in errors:
            covered_cells += count
            if covered_cells >= needed_cells:
                half_width = error
                break
        half_widths.append(half_width)
    return half_widths


def _cell_standard_error(axes: tuple, variances: dict, column_sizes: list) -> float:
    """Return the standard error of a cell of a table on columns M.

    √Σ v_S Π_{a∈S} k_a (k_a − 1)/k_M over measured S ⊆ M.
    """
    total = 0.0
    for axis_count in range(1, len(axes) + 1):
        for S in combinations(axes, axis_count):
            total += variances.get(S, 0.0) * math.prod(
                column_sizes[a] * (column_sizes[a] - 1) for a in S
            )
    return math.sqrt(total) / math.prod(column_sizes[a] for a in axes)


def _read_variances(folder: ReleaseFolder) -> tuple[dict, list]:
    """Return the noise variance on each column set in tables.npz, and each column's size.

    The size is how many values it has.
    """
    import numpy as np

    columns = folder.facts["schema"]["columns"].values()
    column_sizes = [_column_size(column) for column in columns]
    content = io.BytesIO(folder.read("tables.npz"))
    with zipfile.ZipFile(content) as archive:
        require(
            {"sets.npy", "parts.npy", "variances.npy"} <= set(archive.namelist()),
            "tables.npz has other arrays",
        )
        require(
            sum(entry.file_size for entry in archive.infolist()) <= MAX_UNPACKED_BYTES,
            "tables.npz is too large",
        )
    content.seek(0)
    with np.load(content, allow_pickle=False) as arrays:
        sets = arrays["sets"]
        variances = arrays["variances"]
        kinds = (sets.dtype.kind, variances.dtype.kind, arrays["parts"].dtype.kind)
    has_right_shapes = (
        sets.ndim == 2 and sets.shape[1] == len(column_sizes) and variances.shape == sets.shape[:1]
    )
    require(has_right_shapes and kinds == ("u", "f", "f"), "tables.npz does not fit the schema")
    require(
        bool((variances >= 0).all() and np.isfinite(variances).all()),
        "tables.npz: a variance is no number",
    )
    variance_by_axes: dict[Any, float] = {}
    for row, variance in zip(sets, variances.tolist(), strict=True):
        variance_by_axes[tuple(int(a) for a in np.flatnonzero(row))] = variance
    return variance_by_axes, column_sizes


def _column_size(column: dict) -> int:
    """Return the number of values of a column of the schema, the missing one included."""
    if "values" in column:
        value_count = len(column["values"])
    elif "edges" in column:
        value_count = len(column["edges"]) - 1
    else:
        value_count = int(bound_number(column["high"])) - int(bound_number(column["low"])) + 1
    return value_count + (1 if column["missing"] == "category" else 0)


def _expected_uses(half_widths: list, stddevs: float, records: int, noun: str) -> tuple:
    """Return good uses, bad uses and the least group size of tables with such errors."""
    good_counts = []
    bad_counts = []
    group_size = None
    for half_width, column_word in zip(half_widths, ("one", "two"), strict=True):
        if half_width is None:
            continue
        (good_counts if stddevs * half_width <= GOOD_USE_TOLERANCE else bad_counts).append(
            column_word
        )
        group_size = math.ceil(stddevs * half_width * records / GROUP_ERROR_SHARE)
    phrases = [_share_phrases(ways) for ways in (good_counts, bad_counts)]
    if group_size is not None:
        rounding_step = 10 ** max(len(str(group_size)) - 2, 0)
        group_phrase = (
            f"groups under {math.ceil(group_size / rounding_step) * rounding_step:,} {noun}"
        )
        phrases[1].append(group_phrase if group_size < records else "groups of any size")
    return (*phrases, group_size)


def _share_phrases(column_words: list) -> list:
    """Return a phrase for shares by these numbers of columns; empty for none."""
    column = "column" if column_words == ["one"] else "columns"
    return (
        [f"shares by {' or '.join(column_words)} {column} within 1 point"] if column_words else []
    )
