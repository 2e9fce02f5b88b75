"""What release.json says about its own files and in words, computed again; `verify.py` holds a copy of this."""

import csv
import hashlib
import io
import json
import math
import re
import zipfile
from itertools import combinations
from typing import Any

from .json_claims import SCHEMA, strict_json
from .origin_words import EARLIER_RELEASE, REAL_DATA, THIS_RELEASE, bounds_in_words
from .recount import NEAR, cost_words, guess, need, odds
from .release_folder import ALWAYS, DATA_FILES, DOCUMENTS, NO_FILE, SIGNED, Folder

ROW = "one row"
PERSON = re.compile(
    r"all rows of one person, named by the column (?P<column>.+), at most (?P<most>[1-9][0-9]*), chosen by a public "
    r"hash of that person's rows; rows that name nobody count as one person's",
    re.DOTALL,
)
POINT = 0.01  # of shares: the tolerance by which a use is called good
TENTH, MOST = 0.1, 0.95  # the half-width of a group's count as a share of it; the share of cells that keeps a width
MEAN = math.sqrt(2 / math.pi)  # of the size of Gaussian noise, in standard deviations
NORMAL = 1.959963984540054  # standard deviations on either side of 95%, of Gaussian and of Laplace noise
LAPLACE = -math.log(0.05) / math.sqrt(2)
MAX_UNPACKED = 1 << 30  # bytes of the arrays in tables.npz
VERSIONS = {"privacy-utility-explorer", "python", "numpy", "scipy"}


def near(a: float, b: float) -> bool:
    """Whether two programs mean the same number."""
    return abs(a - b) <= NEAR * max(abs(a), abs(b))


def check_files(folder: Folder) -> str:
    """The files are those that were signed, regular, and none is there that a release does not have."""
    file_hashes = folder.hashes
    unexpected = sorted(name for name in file_hashes if name not in DATA_FILES | DOCUMENTS)
    need(not unexpected, f"no file of a release: {', '.join(unexpected)[:300]}")
    irregular_files = sorted(
        name for name, value in [*file_hashes.items(), (SIGNED, folder.signature_hash)] if value == NO_FILE
    )
    need(not irregular_files, f"a link, a folder or a device in place of a file: {', '.join(irregular_files)}")
    missing_files = sorted(ALWAYS - file_hashes.keys())
    need(not missing_files, f"missing: {', '.join(missing_files)}")
    signed_hashes = folder.signed["files"]
    differing_files = sorted(
        name for name in signed_hashes.keys() | file_hashes.keys() if signed_hashes.get(name) != file_hashes.get(name)
    )
    need(not differing_files, f"changed, missing or added: {', '.join(differing_files)[:300]}")
    return f"{len(file_hashes)} files are as they were signed"


def check_claim(folder: Folder) -> str:
    """The data files and the schema are those that release.json names, and its words say what its numbers say."""
    facts = folder.facts
    data_hashes = {name: value for name, value in folder.hashes.items() if name in DATA_FILES}
    differing_files = sorted(
        name for name in data_hashes.keys() | facts["files"].keys() if data_hashes.get(name) != facts["files"].get(name)
    )
    need(not differing_files, f"release.json names other files: {', '.join(differing_files)[:300]}")
    schema = json.dumps(facts["schema"], sort_keys=True).encode()
    need(hashlib.sha256(schema).hexdigest() == facts["schema_sha256"], "the schema is not the one of its SHA-256")
    unknown = facts["versions"].keys() ^ VERSIONS
    need(not unknown, f"versions are of other programs: {', '.join(sorted(unknown))[:200]}")
    _check_schema(folder)
    _check_unit(facts["protects"])
    start = facts["made_by"]["start"]
    need((start is not None) == facts["made_by"]["public_start"], "the public start contradicts itself")
    if facts["promise"]["delta"] == 0:
        need("floating" not in facts["made_by"]["noise"], "noise in floating point keeps no promise at δ = 0")
    return "release.json names the data files and the schema that are here"


def _check_schema(folder: Folder) -> None:
    """Raise WrongError where words or files about the schema contradict it."""
    facts = folder.facts
    schema, bounds = facts["schema"], facts["bounds"]
    need(bool(schema["columns"]), "the schema has no columns")
    for name, column in schema["columns"].items():
        range_keys = [column.keys() & {"values", "edges", "low", "high"}]
        need(range_keys[0] in ({"values"}, {"edges"}, {"low", "high"}), f"column {name[:80]!r} has no one range")
        edges = column.get("edges", [])
        need(all(a < b for a, b in zip(edges, edges[1:])), f"column {name[:80]!r}: its edges do not rise")  # noqa: B905
        if "low" in column:
            ends = (column["low"], column["high"])
            need(all(end == int(end) for end in ends) and ends[0] <= ends[1], f"column {name[:80]!r}: low and high")
    measured = schema.get("measured", [])
    need(set(measured) <= schema["columns"].keys(), "a measured column is not in the schema")
    measured_here = [finding["column"] for finding in facts["measured"]]
    need(
        len(set(measured_here)) == len(measured_here) and set(measured_here) <= set(measured),
        "another column was measured than the schema says",
    )
    need(
        bool(measured_here) == ("schema.json" in folder.hashes),
        "schema.json is there exactly where a schema was measured",
    )
    if measured_here:
        schema_file = strict_json(folder.read("schema.json"), "schema.json")
        SCHEMA(schema_file, "schema.json")
        need(schema_file == schema, "schema.json is not the schema of this release")
    _check_provenance(facts, folder.account)
    need(bounds == bounds_in_words(facts["provenance"]), "the words on bounds contradict where they come from")
    if schema.get("peeked"):
        need(bool(facts["reason"].strip()), "bounds were filled in from the data, and no reason is given")


def _check_provenance(facts: dict, account: dict) -> None:
    """Raise WrongError where a column's origin contradicts the schema, this release or the account."""
    schema, origins = facts["schema"], {item["column"]: item for item in facts["provenance"]}
    need(list(origins) == [each["column"] for each in facts["provenance"]], "a column has two origins")
    need(origins.keys() == schema["columns"].keys(), "the columns whose origin is stated are not those of the schema")
    measured_here = {each["column"] for each in facts["measured"]}
    earlier_entries = {row["entry"] for row in account["releases"][:-1]}
    for name, origin in origins.items():
        source, entry = origin["source"], origin["entry"]
        column = f"column {name[:80]!r}"
        need((source == REAL_DATA) == bool(schema.get("peeked")), f"{column}: whether it was filled in from the data")
        need((source == THIS_RELEASE) == (name in measured_here), f"{column}: whether this release measured it")
        is_protected = source in (THIS_RELEASE, EARLIER_RELEASE)
        need(is_protected == (name in schema.get("measured", [])), f"{column}: whether it was measured with protection")
        need((entry is not None) == (source == EARLIER_RELEASE), f"{column}: an entry is that of an earlier release")
        need(
            entry is None or entry in earlier_entries, f"{column}: entry {entry} is no earlier release of this account"
        )


def _check_unit(protects: dict) -> None:
    """Raise WrongError where the words on whom the promise protects contradict the number of rows of a person."""
    unit, rows_per_person = protects["unit"], protects["rows_per_person"]
    need(rows_per_person <= protects["records"], "a person has more rows than there are")
    person = PERSON.fullmatch(unit)
    need(unit == ROW or person is not None, "it protects something that this file does not know")
    if person is not None:
        need(
            int(person["most"]) == rows_per_person,
            f"it protects {person['most']} rows of a person, and {rows_per_person} are counted",
        )
    row_words = "rows" if person is None else "rows after that choice"
    expected_neighbours = (
        f"tables that differ in {unit}, replaced by any others, and have as many {row_words}; n is public"
    )
    need(protects["neighbours"] == expected_neighbours, "the neighbouring tables are not those of whom it protects")


def check_promise(folder: Folder) -> str:
    """What the promise means, a guess, odds and an exception, and its cost, follow from its events."""
    promise = folder.facts["promise"]
    epsilon, delta, means = promise["epsilon"], promise["delta"], promise["means"]
    odds_factor, exception_probability = odds(epsilon, delta)
    expected = {
        "guess": guess(promise["reserved"], epsilon, delta),
        "odds": odds_factor,
        "except": exception_probability,
    }
    for name, value in expected.items():
        need(near(means[name], value), f"{name} = {value:.8g}; {means[name]:.8g} is stated")
    expected_costs = cost_words(promise["charges"], promise["accounting"])
    need(promise["cost"] in expected_costs, f"the cost is {min(expected_costs)}; {promise['cost']} is stated")
    return (
        f"a guess is right at most {100 * means['guess']:.4g} times in 100, the odds rise at most "
        f"{odds_factor:.4g} times"
    )


class Answers:
    """What verify.py reads of answers.csv: how many answers there are, how exact, and their shares."""

    def __init__(self, folder: Folder) -> None:
        self.count, self.spread = 0, 0.0
        self.errors: list[float] = []
        self.widths: list[float] = []  # of intervals that end within 0 and 1
        rows = csv.reader(folder.lines("answers.csv"), strict=True)
        header = next(rows, [])
        need(header[:2] == ["query", "answer"] and len(set(header)) == len(header), "answers.csv has other columns")
        allowed_columns = {"noisy_answer", "standard_error", "low", "high", "population_low", "population_high"}
        need(set(header[2:]) <= allowed_columns, "answers.csv has columns that this file does not know")
        for row in rows:
            need(len(row) == len(header), f"answers.csv: line {rows.line_num} has {len(row)} values")
            self._add(dict(zip(header, row, strict=True)))
        need(all(map(math.isfinite, self.errors)), "answers.csv: a standard error is no number")

    def _add(self, row: dict) -> None:
        share = min(max(_finite(row["answer"]), 0.0), 1.0)
        self.count += 1
        self.spread += share * (1 - share)
        if row.get("standard_error"):
            self.errors.append(_finite(row["standard_error"]))
        if row.get("low") and row.get("high"):
            low, high = _finite(row["low"]), _finite(row["high"])
            need(0 <= low <= high <= 1, f"answers.csv: an interval from {low:g} to {high:g}")
            if low > 0 and high < 1:
                self.widths.append((high - low) / 2)


def _finite(written: str) -> float:
    value = float(written)
    need(math.isfinite(value) and len(written) < 100, f"answers.csv: {written[:40]} is no number")
    return value


def check_answers(folder: Folder) -> str:
    """The numbers about answers and their use follow from answers.csv and tables.npz."""
    facts = folder.facts
    answers, utility, records = Answers(folder), facts["utility"], facts["protects"]["records"]
    need(answers.count == facts["queries"]["count"], f"{answers.count} answers are there")
    stated_errors, errors = facts["errors"], answers.errors
    need((stated_errors is None) == (not errors), "release.json contradicts answers.csv about standard errors")
    if stated_errors is not None:
        numbers = (stated_errors["answers"], stated_errors["measured"])
        need(numbers == (answers.count, len(errors)), f"{len(errors)} of {answers.count} answers were measured")
        ends_match = near(stated_errors["least"], min(errors)) and near(stated_errors["most"], max(errors))
        need(ends_match, f"standard errors are from {min(errors):.6g} to {max(errors):.6g}")
    variances, column_sizes = _variances(folder)
    errors = [0.0, *(_error(axes, variances, column_sizes) for axes in variances)]
    _check_noise(utility, answers, errors, records)
    _check_uses(utility, _half_widths(variances, column_sizes), records)
    return f"{answers.count} answers, as exact as release.json says"


def _check_noise(utility: dict, told: Answers, errors: list, records: int) -> None:
    """Raise WrongError for sizes of noise, or a sample, that intervals or the `errors` of tables contradict."""
    noise, sample_share = utility["noise"], utility["as_exact_as_sample"]
    need((noise is None) == (sample_share is None), "the size of the noise and the sample do not go together")
    if noise is None or sample_share is None:
        return
    typical, largest = noise
    possible_limits = [z * error for error in errors for z in (NORMAL, LAPLACE)]
    need(any(near(largest, size) for size in possible_limits), f"no table's noise keeps within {largest:.6g}")
    need(MEAN * min(errors[1:], default=0.0) <= typical * (1 + NEAR), f"every answer is off by more than {typical:.6g}")
    widest = max(told.widths, default=largest)
    need(widest <= largest * (1 + NEAR), f"an answer is off by up to {widest:.6g}, not {largest:.6g}")
    need(typical <= largest * MEAN / NORMAL * (1 + NEAR), "the typical error exceeds what 19 of 20 answers keep")
    if len(told.widths) == told.count:  # else what is cut off at 0 or 1 is not known
        need(near(widest, largest), f"19 of 20 answers are within {widest:.6g}, not {largest:.6g}")
        means = [math.fsum(told.widths) / told.count / z * MEAN for z in (NORMAL, LAPLACE)]
        need(any(near(typical, mean) for mean in means), f"the typical error is {means[0]:.6g}, not {typical:.6g}")
    mean, worst = typical / MEAN, largest / NORMAL
    spread = told.spread
    if spread == 0 or worst == 0:
        return
    # Σ errors² lies between m mean² and m mean · worst, as no error exceeds the worst.
    low, high = (spread / (told.count * mean * most * (records - 1) + spread) for most in (worst, mean))
    need(low * (1 - NEAR) <= sample_share <= high * (1 + NEAR), f"as exact as {low:.4g} to {high:.4g} of the rows")


def _check_uses(utility: dict, halves: list, records: int) -> None:
    """Raise WrongError unless what a release is good for follows from its noisy tables, as its sentence says."""
    need(utility["tolerance"] == POINT, f"uses are called good at {POINT}")
    sentences = [
        f"{label}: {' and '.join(phrases)}."
        for label, phrases in (("Good for", utility["good_for"]), ("Not for", utility["not_for"]))
        if phrases
    ]
    unknown = "How exact the answers are is not known before they are compared with the table."
    need(utility["sentence"] == (" ".join(sentences) or unknown), "the sentence on use contradicts its own lists")
    expected_uses = [_uses(halves, z, records) for z in (NORMAL, LAPLACE)]  # what noise it is tables.npz does not say
    stated = (utility["good_for"], utility["not_for"], utility["smallest_group"])
    need(stated in expected_uses, f"the noisy tables suit other uses: {expected_uses[0]}"[:300])


def _half_widths(variances: dict, sizes: list) -> list[float | None]:
    """The standard error that 95% of the cells of all tables of one, and of two columns keep; None where unmeasured."""
    varying_axes = [axis for axis in range(len(sizes)) if sizes[axis] > 1]
    half_widths: list[float | None] = []
    for axis_count in (1, 2):
        axis_sets = list(combinations(varying_axes, axis_count))
        cell_counts = {axes: math.prod(sizes[a] for a in axes) for axes in axis_sets}
        errors = sorted((_error(axes, variances, sizes), cell_counts[axes]) for axes in axis_sets if axes in variances)
        covered_cells, needed_cells, half_width = 0, MOST * sum(cell_counts.values()), None
        for error, count in errors:
            covered_cells += count
            if covered_cells >= needed_cells:
                half_width = error
                break
        half_widths.append(half_width)
    return half_widths


def _error(axes: tuple, variances: dict, sizes: list) -> float:
    """The standard error of a cell of a table on columns M: √Σ v_S Π_{a∈S} k_a (k_a − 1)/k_M over measured S ⊆ M."""
    total = 0.0
    for axis_count in range(1, len(axes) + 1):
        for S in combinations(axes, axis_count):
            total += variances.get(S, 0.0) * math.prod(sizes[a] * (sizes[a] - 1) for a in S)
    return math.sqrt(total) / math.prod(sizes[a] for a in axes)


def _variances(folder: Folder) -> tuple[dict, list]:
    """The variance of the noise on each set of columns in tables.npz, and how many values each column has."""
    import numpy as np

    columns = folder.facts["schema"]["columns"].values()
    column_sizes = [_size(column) for column in columns]
    content = io.BytesIO(folder.read("tables.npz"))
    with zipfile.ZipFile(content) as archive:
        need({"sets.npy", "parts.npy", "variances.npy"} <= set(archive.namelist()), "tables.npz has other arrays")
        need(sum(entry.file_size for entry in archive.infolist()) <= MAX_UNPACKED, "tables.npz is too large")
    content.seek(0)
    with np.load(content, allow_pickle=False) as arrays:
        sets, variances = arrays["sets"], arrays["variances"]
        kinds = (sets.dtype.kind, variances.dtype.kind, arrays["parts"].dtype.kind)
    has_right_shapes = sets.ndim == 2 and sets.shape[1] == len(column_sizes) and variances.shape == sets.shape[:1]
    need(has_right_shapes and kinds == ("u", "f", "f"), "tables.npz does not fit the schema")
    need(bool((variances >= 0).all() and np.isfinite(variances).all()), "tables.npz: a variance is no number")
    variance_by_axes: dict[Any, float] = {}
    for row, variance in zip(sets, variances.tolist(), strict=True):
        variance_by_axes[tuple(int(a) for a in np.flatnonzero(row))] = variance
    return variance_by_axes, column_sizes


def _size(column: dict) -> int:
    """The number of values of a column of the schema, the missing one included."""
    if "values" in column:
        value_count = len(column["values"])
    elif "edges" in column:
        value_count = len(column["edges"]) - 1
    else:
        value_count = int(column["high"]) - int(column["low"]) + 1
    return value_count + (1 if column["missing"] == "category" else 0)


def _uses(halves: list, z: float, records: int) -> tuple:
    """What tables with such errors are good for, not for, and from which size of a group on."""
    good_counts, bad_counts, group_size = [], [], None
    for half_width, column_word in zip(halves, ("one", "two"), strict=True):
        if half_width is None:
            continue
        (good_counts if z * half_width <= POINT else bad_counts).append(column_word)
        group_size = math.ceil(z * half_width * records / TENTH)
    phrases = [_shares(ways) for ways in (good_counts, bad_counts)]
    if group_size is not None:
        rounding_step = 10 ** max(len(str(group_size)) - 2, 0)
        group_phrase = f"groups under {math.ceil(group_size / rounding_step) * rounding_step:,} rows"
        phrases[1].append(group_phrase if group_size < records else "groups of any size")
    return (*phrases, group_size)


def _shares(ways: list) -> list:
    """A phrase for shares by this many columns; empty for none."""
    column = "column" if ways == ["one"] else "columns"
    return [f"shares by {' or '.join(ways)} {column} within 1 point"] if ways else []
