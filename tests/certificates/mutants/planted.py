"""The bugs that are planted: one for every known class of errors in libraries for differential
privacy.

Sources: the issues of dpsynth (34, 35) and smartnoise-sdk (485); Cebere et al. 2026 (13 violations
in 12 libraries); Ganev et al. 2025 (MST and AIM).
"""

# By what each bug is: of which kind; in which file of the package what text gets another; and which
# test sees it.
MUTANTS = {
    "half the sensitivity of a score": (  # sensitivity halved
        "privacy/statistics/selection_scores.py",
        "return 2.0 * float(self.weights.max())",
        "return float(self.weights.max())",
        "tests/privacy/statistics/test_scores.py::test_one_record_moves_a_table_s_score_by_twice_its_weight",
    ),
    "answers as if a record were added": (  # the wrong neighbour relation
        "privacy/statistics/query_answers.py",
        "math.sqrt(2 * len(w.tables))",
        "math.sqrt(len(w.tables))",
        "tests/privacy/test_exact_neighbours.py::test_noise_on_answers_matches_the_largest_change_between_neighbours",
    ),
    "votes as if one were added": (  # the wrong neighbour relation
        "privacy/statistics/votes.py",
        "l2 = math.sqrt(2)",
        "l2 = 1.0",
        "tests/privacy/statistics/test_votes.py::test_noise_on_votes_matches_the_largest_change_between_neighbours",
    ),
    "variance for deviation": (  # noise scale as variance
        "privacy/mechanisms.py",
        "return values + sigma * rng.standard_normal(values.shape)",
        "return values + sigma**2 * rng.standard_normal(values.shape)",
        "tests/privacy/test_mechanisms.py::test_additive_noise_has_the_claimed_scale",
    ),
    "deviation of Laplace noise": (  # noise scale as variance
        "privacy/accounting/events.py",
        "stddev_per_scale = math.sqrt(2)",
        "stddev_per_scale = 2.0",
        "tests/privacy/test_measurement.py::test_the_noise_that_is_drawn_has_the_deviation_that_is_said",
    ),
    "the same noise in every draw": (  # a seed reused between draws
        "privacy/mechanisms.py",
        "return values + rng.laplace(0.0, scale, values.shape)",
        "return values + np.random.default_rng(7).laplace(0.0, scale, values.shape)",
        "tests/privacy/test_mechanisms.py::test_additive_noise_leaves_the_values_alone_and_follows_the_generator",
    ),
    "one draw for all cells": (  # a seed reused between draws
        "privacy/mechanisms.py",
        "sigma * rng.standard_normal(values.shape)",
        "sigma * rng.standard_normal()",
        "tests/privacy/test_mechanisms.py::test_additive_noise_is_independent_symmetric_and_new_in_every_cell",
    ),
    "people weighted by their rows before the limit": (  # contributions not bounded
        "data/privacy_unit.py",
        "        votes = self.votes_of_rows(kept_rows)\n",
        "        people = pd.factorize(frame[self.person])\n"
        "        rows_of_person = np.bincount(people[0])[people[1].get_indexer(kept_rows[self.person])]\n"
        "        votes = self.votes_per_unit // rows_of_person\n",
        "tests/privacy/test_people_once.py::test_a_person_of_many_rows_has_one_vote_too",
    ),
    "a vote for each row of a person": (  # contributions not bounded
        "data/privacy_unit.py",
        "return self.votes_per_unit // rows_of_person[people]",
        "return np.full(len(people), self.votes_per_unit)",
        "tests/privacy/test_people_once.py::test_a_person_of_many_rows_has_one_vote_too",
    ),
    "the votes of a chunk as if nothing was left out": (  # contributions not bounded
        "data/sources/limited_rows_source.py",
        "votes = self.unit.votes_of_rows(kept_rows)",
        "votes = np.full(len(kept_rows), self.unit.votes_per_unit)",
        "tests/privacy/test_people_once.py::test_votes_are_the_same_part_by_part",
    ),
    "the rows of a person before the limit": (  # contributions not bounded
        "data/privacy_unit.py",
        "kept_rows = self.with_rows_column(kept_rows, votes)",
        "rows_of_person = frame[self.person].value_counts()\n"
        "        kept_rows = kept_rows.assign(rows=kept_rows[self.person].map(rows_of_person))\n"
        "        kept_rows = kept_rows.assign(rows=kept_rows['rows'].clip(upper=2))",
        "tests/privacy/test_people_once.py::test_the_rows_of_a_person_are_those_that_are_kept",
    ),
    "a person's column taken from another person's row": (  # a row read by what others say
        "data/privacy_unit.py",
        "first_rows.iloc[row_of_person, position]",
        "first_rows.iloc[np.roll(row_of_person, 1), position]",
        "tests/privacy/test_people_once.py::test_a_persons_column_is_never_that_of_another_person",
    ),
    "the noise of one vote for a person": (  # the wrong neighbour relation
        "privacy/curators/curator.py",
        "plan, rng, group * votes_per_unit)",
        "plan, rng, group)",
        "tests/privacy/test_people_once.py::test_noise_covers_a_person_replaced_by_any_other",
    ),
    "a key that can be guessed": (  # a seed reused between draws
        "privacy/entropy.py",
        "return secrets.token_bytes(KEY_BYTES)",
        "return secrets.token_bytes(2).ljust(KEY_BYTES, bytes(1))",
        "tests/privacy/test_exact_bernoulli.py::test_no_two_generators_share_a_key_and_all_bits_of_it_come_from_the_system",
    ),
    # exact minimum and maximum before private quantiles
    "a quantile between the smallest and largest record": (
        "privacy/statistics/density_targets.py",
        "return Density(self.risk(rows), self.region, self.k(effective_n, spend), self.mu, self.at)",
        "region = type(self.region)(rows.values.min(axis=0), rows.values.max(axis=0))\n"
        "        return Density(self.risk(rows), region, self.k(effective_n, spend), self.mu, self.at)",
        "tests/privacy/test_samplers.py::test_ranks_are_drawn_from_their_law",
    ),
    "the table with the largest exact error": (  # cliques chosen by exact errors
        "privacy/curators/table_curator.py",
        "        if isinstance(paid, BoundedRange):",
        "        if isinstance(score, TableErrors):\n"
        "            return int(np.argmax(scores))\n"
        "        if isinstance(paid, BoundedRange):",
        "tests/privacy/test_exact_neighbours.py::test_selection_is_pure_and_bounded_range",
    ),
    "categories that must occur": (  # bounds or categories read off the records without charge
        "privacy/statistics/votes.py",
        'b.take(rows.values[:, i], mode="clip")',
        "b.take(rows.values[:, i])",
        "tests/privacy/test_hostile_code.py::test_a_code_beyond_the_bins_raises_no_error_that_would_tell_of_it",
    ),
    "a peek without a reason": (  # bounds or categories read off the records without charge
        "release/request.py",
        "if domain.peeked and not reason.strip():",
        "if False:",
        "tests/cli/test_release.py::test_a_peeked_schema_needs_a_reason_that_is_kept",
    ),
    "a peek that is called typed": (  # bounds or categories read off the records without charge
        "release/provenance.py",
        "    if domain.peeked:\n        return",
        "    if False:\n        return",
        "tests/cli/test_release.py::test_a_peeked_schema_needs_a_reason_that_is_kept",
    ),
    "divided by the sample's true size": (  # n treated as public where it is not
        "privacy/curators/risk_curator.py",
        "values = noisy / (paid.rate * self._n)",
        "values = noisy / max(1, counts.sum())",
        "tests/privacy/test_hostile_code.py::test_a_sampled_sum_is_divided_by_the_expected_size_whatever_was_drawn",
    ),
    "the charge after the touch": (  # budget charged after the draw
        "privacy/curators/table_curator.py",
        "        self._ledger.charge(verb, paid, times)\n"
        "        workload, counts, _ = self._true_counts(score.workload)\n",
        "        workload, counts, _ = self._true_counts(score.workload)\n"
        "        self._ledger.charge(verb, paid, times)\n",
        "tests/privacy/curators/test_curator.py::test_a_charge_is_in_the_ledger_before_the_records_are_touched",
    ),
    "a release that failed is free": (  # budget not charged when an exception follows
        "release/ledger/ledger_store.py",
        '        for release in self._releases[row["seq"]]:\n            totals.append',
        '        for release in self._releases[row["seq"]]:\n'
        '            if any(state["state"] == "failed" for state in '
        'self._states[release["seq"]]):\n'
        "                continue\n"
        "            totals.append",
        "tests/release/test_attempts.py::test_an_error_that_every_attempt_would_end_with_marks_it_as_failed",
    ),
    "a kind counts once": (  # composition by the number of queries and not of spends
        "privacy/accounting/accountants.py",
        "math.fsum(times * self.event_cost(event)",
        "math.fsum(self.event_cost(event)",
        "tests/privacy/accounting/test_accounting.py::test_failure_probabilities_come_off_delta",
    ),
    "the last candidate is never picked": (  # off by one in the range of a discrete draw
        "privacy/mechanisms.py",
        "rng.integers(ends[-1], size",
        "rng.integers(ends[-2], size",
        "tests/privacy/test_mechanisms.py::test_selection_follows_the_exponential_mechanism_and_not_that_of_another_scale",
    ),
    "a threshold that forgets the neighbours' rows": (  # off by one in the range of a discrete draw
        "privacy/curators/column_curator.py",
        "threshold = low + group + tail",
        "threshold = low + group - 1 + tail",
        "tests/privacy/curators/test_column_curator.py::test_a_value_that_a_neighbour_lacks_passes_as_rarely_as_was_paid_for",
    ),
    "columns' counts as if a row were added": (  # the wrong neighbour relation
        "privacy/statistics/column_statistics.py",
        "return math.sqrt(2 * self.levels)",
        "return math.sqrt(self.levels)",
        "tests/privacy/curators/test_column_curator.py::test_noise_is_that_of_the_largest_change_between_neighbours_and_no_more",
    ),
    "noise that is rounded down": (  # float tails
        "privacy/exact_samplers.py",
        "scaled_remainders += 2 ** (OFFSET_BITS - 1)",
        "scaled_remainders += 0",
        "tests/privacy/test_exact_samplers.py::test_each_sum_is_rounded_to_the_nearest_step",
    ),
    "a coin that is cut off far out": (  # float tails
        "privacy/exact_bernoulli.py",
        "elif leading_bits and bit_count <= low:",
        "else:",
        "tests/privacy/test_exact_bernoulli.py::test_a_coin_is_heads_exactly_where_the_uniform_number_is_below",
    ),
    "infinite noise is paid for": (  # float tails
        "privacy/accounting/events.py",
        "if not 0 < value < math.inf:",
        "if not 0 < value:",
        "tests/privacy/accounting/test_accounting.py::test_a_spend_that_would_give_budget_back_or_pays_for_infinite_noise_cannot_be_made",
    ),
    "noise redrawn until it is in range": (  # truncation that rejects and redraws
        "privacy/mechanisms.py",
        "    return values + sigma * rng.standard_normal(values.shape)",
        "    z = rng.standard_normal(values.shape)\n"
        "    while (np.abs(z) > 2).any():\n"
        "        z = np.where(np.abs(z) > 2, rng.standard_normal(values.shape), z)\n"
        "    return values + sigma * z",
        "tests/privacy/test_mechanisms.py::test_additive_noise_has_the_claimed_scale",
    ),
    "all of a first batch": (  # a cap on a rejection loop
        "privacy/mechanisms.py",
        "np.concatenate([found[heads], exponential(",
        "np.concatenate([found, exponential(",
        "tests/privacy/test_exact_bernoulli.py::test_a_selection_is_kept_exactly_where_its_point_lies_within_its_probability",
    ),
    "no noise where nothing is near the level": (  # a data-dependent early stop
        "privacy/curators/table_curator.py",
        "        if known is None:\n            if draw is exact",
        "        if values.max() < 0:\n            return None\n"
        "        if known is None:\n            if draw is exact",
        "tests/privacy/curators/test_curator.py::test_a_batch_far_below_its_level_is_still_compared_with_noise",
    ),
    "answers kept by their number": (  # a cache keyed without the data
        "privacy/curators/table_curator.py",
        "        return self._counts[workload_copy]",
        "        return next(iter(self._counts.values()))",
        "tests/privacy/curators/test_curator.py::test_two_workloads_of_one_size_have_answers_of_their_own",
    ),
    "totals remembered of another ledger": (  # a cache keyed without the data
        "release/ledger/ledger_store.py",
        'if known["bytes"] != _ledger_hash(db):',
        "if False:",
        "tests/release/ledger/test_ledger_file.py::test_a_change_is_seen_whatever_is_remembered",
    ),
    "bits priced for a single row": (  # group size ignored in one verb
        "privacy/curators/table_curator.py",
        "score.minimum_epsilon(self.effective_n)",
        "score.minimum_epsilon(self._n)",
        "tests/privacy/curators/test_curator.py::test_a_bit_about_a_person_of_two_rows_is_not_sold_at_the_price_of_one_row",
    ),
    "selections for a single row": (  # group size ignored in one verb
        "privacy/curators/table_curator.py",
        "2 * delta / (self.effective_n / self._n * paid.epsilon)",
        "2 * delta / paid.epsilon",
        "tests/privacy/test_exact_neighbours.py::test_all_records_of_a_person_are_protected_together",
    ),
    "the sum is clipped": (  # clipping after summing
        "privacy/statistics/gradients.py",
        "        return (counts * np.minimum(1, self.clip / np.maximum(norms, 1e-300))) @ "
        "gradients",
        "        total = counts @ gradients\n"
        "        return total * min(1, self.clip * float(np.abs(counts).sum()) / "
        "max(np.linalg.norm(total), 1e-300))",
        "tests/privacy/statistics/test_targets.py::test_a_clipped_gradient_moves_by_no_more_than_its_sensitivity",
    ),
    "a release drawn over an earlier one": (  # a replay that draws new noise
        "release/ledger/drafts.py",
        "if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):",
        "if folder.exists() and not folder.is_dir():",
        "tests/cli/test_release.py::test_noise_is_never_the_same_and_cannot_be_seeded",
    ),
    "a threshold blurred anew for every batch": (  # a replay that draws new noise
        "privacy/curators/table_curator.py",
        "        if known is None:\n            if draw is exact",
        "        if True:\n            if draw is exact",
        "tests/algorithms/query_release/test_pmw.py::test_a_threshold_is_paid_once_and_kept_until_a_query_is_above_it",
    ),
    # evidence that does not depend on what it is evidence of
    "a chain that does not hang together": (
        "release/evidence/verifier.py",
        "    text = _encode_json([previous, table, list(row)])",
        "    text = _encode_json([table, list(row)])",
        "tests/release/ledger/test_ledger_file.py::test_a_ledger_of_the_first_version_is_read_and_continued",
    ),
    # evidence that does not depend on what it is evidence of
    "a signature that is not looked at": (
        "release/evidence/verifier.py",
        '        public.verify(bytes.fromhex(signed["signature"]), statement(signed["files"], '
        'signed["key"]))\n',
        '        bytes.fromhex(signed["signature"])\n',
        "tests/release/evidence/test_verifier.py::test_a_changed_digit_fails_wherever_it_stands",
    ),
}
