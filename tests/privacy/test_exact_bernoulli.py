"""Coins, selections and the key stream of a real release: their laws without rounding, and that all
of it is used.
"""

import itertools
import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from scipy import stats

from dpcore import Explicit, Marginals, Rows, TableQueries, Union
from dpcore.privacy import entropy, exact_bernoulli, exact_samplers, mechanisms, noise_grid
from dpcore.privacy.accounting import Pure
from dpcore.privacy.statistics import (
    AbsoluteErrors,
    AcceptProbabilities,
    Answers,
    CellAnswers,
    SignedErrors,
    TableErrors,
    keep_bit_epsilon,
)
from tests.privacy.enumerated_neighbours import ChosenWords, curator_of
from tests.small_problems import (
    approx,
    flip_law,
    integer_domain,
    parametrize,
    query_matrix,
    random_rows,
    seeded,
)

SCORES = np.array([0.0, 0.4, 0.4, -1.0, 1.0, 0.9])
CUBE = integer_domain(2, 2, 2)
REAL = Explicit(CUBE, seeded(0).uniform(-1, 1, (5, 8)))


# One coin


def heads(x, words, *exactly):
    """Whether the coin of exp(−x) falls on heads by these words."""
    return exact_bernoulli.flip_exp_coins(np.array([x]), words, *exactly)[0]


@parametrize(
    "x", [0.0, 1e-9, 0.1, 1.0, math.log(2), 20.0, 36.0, 37.0, 70.0, 100.0, 800.0, 1e9, 1e300]
)
def test_a_coin_is_heads_exactly_where_the_uniform_number_is_below(x):
    """Around exp(−x) word by word, and in the word that holds it bit by bit further on."""
    with localcontext() as context:
        context.prec = 60
        p = int(Decimal(-x).exp() * 2**117) if x < 100 else 0
    word, rest = divmod(p, 2**64)
    for near in range(max(word - 2, 0), min(word + 3, 2**53)):
        if near != word:
            assert heads(x, ChosenWords(near)) == (near < word), near
    if (
        0 < x <= 70 and x != 37
    ):  # exp(−70) is about 2^-101: the first 53 bits are 0, of the next 64 the first 48
        near = min(10**6, rest // 2)
        for more in (rest - near, rest + near):
            if 0 <= more < 2**64:
                words = ChosenWords(word, [more])
                assert heads(x, words) == (more < rest)
                assert words.asked == 1, "more bits, not a rounded comparison"
    if x > 400:
        words = ChosenWords(0, [0, 0, 7])
        assert not heads(x, words), "exp(−x) underflows, and U does not"
    if x == 0:
        assert heads(x, ChosenWords(2**53 - 1))
        for last, falls in ((2**63 - 1, True), (2**64 - 1, False)):  # 1 − exp(−1e-300) is 2^-996.6
            words = ChosenWords(2**53 - 1, [2**64 - 1] * 14 + [last])
            assert heads(1e-300, words) == falls
            assert words.asked == 15


def test_a_coin_follows_the_fraction_that_is_meant_not_its_rounding():
    x = math.log(2)
    meant = Fraction(math.log(2)) + Fraction(1, 2**70)
    with localcontext() as context:
        context.prec = 80
        true = [
            int(((-Decimal(f.numerator) / Decimal(f.denominator)).exp()) * 2**117)
            for f in (Fraction(x), meant)
        ]
    assert true[1] < true[0]
    word, between = divmod((true[0] + true[1]) // 2, 2**64)
    assert heads(x, ChosenWords(word, [between]))
    assert not heads(x, ChosenWords(word, [between]), lambda _: meant)


# Selections


def by_the_paper(scale):
    """Algorithm 1 of McKenna, Sheldon 2020, over all orders."""
    p = np.exp((SCORES - SCORES.max()) / scale)
    law = np.zeros(len(SCORES))
    orders = list(itertools.permutations(range(len(SCORES))))
    for order in orders:
        left = 1.0
        for i in order:
            law[i] += left * p[i] / len(orders)
            left *= 1 - p[i]
    return law


@parametrize("scale", [0.25, 2.0])
def test_all_coins_at_once_are_the_paper_s_algorithm(scale):
    law = by_the_paper(scale)
    assert flip_law(SCORES, scale) == approx(law, rel=1e-12)
    rng = seeded(1)
    found = np.bincount(
        [mechanisms.permute_and_flip(SCORES, scale, rng) for _ in range(8_000)], minlength=6
    )
    assert stats.chisquare(found, 8_000 * law).pvalue > 1e-3
    assert stats.chisquare(found, 8_000 * by_the_paper(0.8 * scale)).pvalue < 1e-6


class Points:
    """In a generator's place: the points that a test chooses."""

    def __init__(self, *points):
        self.points = list(points)

    def integers(self, _high, size):
        return np.array([] if size == 0 else [self.points.pop(0)])


def test_a_selection_is_kept_exactly_where_its_point_lies_within_its_probability():
    """Two scores, one apart: the second one's piece of the line begins at 2^59 and is longer than
    exp(−1) · 2^59.
    """
    start = 2**59
    p = int(Decimal(-1).exp() * 2**59)
    for point, kept in ((0, 0), (start - 1, 0), (start, 1), (start + p - 1, 1)):
        assert mechanisms.exponential(np.array([1.0, 0.0]), 1.0, 1, Points(point)) == kept
    rng = Points(start + p + 1, start + p + 10**5, 7)
    assert mechanisms.exponential(np.array([1.0, 0.0]), 1.0, 1, rng) == 0
    assert not rng.points, "two points were drawn again"


def test_scores_that_no_record_moves_and_scores_far_apart():
    rng = seeded(3)
    assert mechanisms.permute_and_flip(SCORES, 0.0, rng) == 4
    assert {mechanisms.permute_and_flip(SCORES, 1e-300, rng) for _ in range(50)} == {4}
    assert {mechanisms.permute_and_flip(SCORES, 1e300, rng) for _ in range(300)} == set(range(6))


# Scores and bits from exact counts


@parametrize("score", ["signed", "tables", "absolute", "summed"])
def test_rounding_stays_within_what_is_added_for_it(score):
    """Against fractions, for counts and answers of all sizes."""
    rng = seeded(4)
    n = 10**6 + 3
    workload = Marginals.all(CUBE, 2)
    for size in (1e-3, 1.0, 1e6):
        counts = rng.integers(0, n, workload.m).astype(float)
        counts *= np.repeat([n / counts[table].sum() for table in workload.tables], 4)
        counts = np.rint(counts)
        answers = size * rng.normal(size=workload.m)
        given = {
            "signed": SignedErrors(workload, answers),
            "tables": TableErrors(
                workload, answers, size * rng.normal(size=3), rng.uniform(0, 1, 3)
            ),
            "absolute": AbsoluteErrors(workload, np.arange(12), answers, size * 0.3),
            "summed": SignedErrors(workload, answers, 7),
        }[score]
        whole, room = given.in_counts(workload, n)
        room *= max(size, 1) if score == "absolute" else 1  # larger answers are refused before
        found = whole.value(counts)

        q = [Fraction(c) for c in counts]

        def exactly(j, whole=whole, q=q):
            if score == "summed":
                return 7 * q[j] - Fraction(whole.answers[j])
            gap = [count - Fraction(answer) for count, answer in zip(q, whole.answers, strict=True)]
            if score == "tables":
                cells = sum(map(abs, gap[workload.tables[j]]))
                return Fraction(whole.weights[j]) * (cells - Fraction(whole.penalties[j]))
            return abs(gap[j]) - Fraction(whole.level) if score == "absolute" else gap[j]

        assert (
            max(abs(Fraction(found[j]) - exactly(j)) for j in range(3 if score == "tables" else 12))
            <= room
        )
        assert room < 1e-5 * max(size, 1), "and it is a hair"


@parametrize("workload", [Marginals.all(CUBE, 2), REAL], ids=["counts", "reals"])
@parametrize("n, eta", [(30, 2.0), (30, 0.01), (10**6, 0.5)])
def test_bits_from_exact_counts_are_within_what_is_paid(workload, n, eta):
    """The worst log-odds of the smaller η, with the rounding it was made for, against B of the one
    that was paid.
    """
    odds = AcceptProbabilities(workload, np.array([0, 3]), np.array([0.2, 0.3]), eta)
    own, _ = noise_grid.workload_on_grid(workload, n)
    rounded = odds.with_smaller_eta(own, odds.rounding_share(n))
    assert (1 - 1e-3) * eta < rounded.eta < eta
    limit = Fraction(rounded.eta * own.width)
    e = 2.0**-50 * eta * workload.width * (1.3 / workload.width + 3)
    paid = keep_bit_epsilon(eta * workload.width, n) / (1 + 1e-12)
    worst = keep_bit_epsilon(float(limit), n) / (1 + 1e-12) + 2 * e * (1 + 1 / float(limit))
    assert worst <= paid * (1 + 1e-13)


def test_the_sparse_vector_is_drawn_on_a_grid_that_hides_in_its_noise(monkeypatch):
    rows = random_rows(CUBE, 40)
    seen = []
    monkeypatch.setattr(
        exact_samplers, "laplace", lambda v, scale, _rng: seen.append((v, scale)) or v
    )
    workload = Marginals.all(CUBE, 2)
    n = 40
    spend = Pure(0.5)
    truth = workload.answers_of_rows(rows)
    batch = AbsoluteErrors(workload, np.arange(6), np.full(6, 0.1), 0.05)
    curator = curator_of(rows, spend, exact=True, group=2)
    place = curator.above_threshold(batch, spend)
    (threshold, first), (values, second) = seen
    assert (values == np.rint(values)).all()
    assert second == approx(2 ** (1 / 3) * first), "2Δ/ε₂ beside Δ/ε₁, with ε₁ : ε₂ = 1 : 2^⅔"
    delta_in_steps = (
        first * 0.5 / (1 + 2 ** (2 / 3)) / 2
    )  # first · ε₁ of one record among two, Δ = 1 count
    assert delta_in_steps > 2**17, "fine enough not to matter"
    assert values / delta_in_steps == approx(n * batch.value(truth), abs=1e-4)
    assert np.ceil(delta_in_steps / (1 + 1e-5)) + 1 <= delta_in_steps * (1 + 1e-4)
    assert place == int(np.argmax(batch.value(truth) >= 0))
    assert curator.exact_draw_counts == {"sparse vector": 1}


# The grid


def test_entries_on_the_grid_add_up_without_error_and_move_by_half_a_step():
    n = 10**6
    parts = [("ab", seeded(5).uniform(-1, 1, (4, 4))), ("c", np.array([[0.1, 0.7]]))]
    half = TableQueries(CUBE, parts)
    for workload in (half, REAL, Union([Marginals.all(CUBE, 1), half, REAL])):
        own, step = noise_grid.workload_on_grid(workload, n)
        assert step == 2.0**-31
        assert type(own) is type(workload)
        B = query_matrix(own)
        assert (np.rint(B / step) * step == B).all()
        assert 0 < np.abs(query_matrix(workload) - B).max() <= step / 2 * (1 + 1e-6)
        assert abs(Answers(own).l1 - Answers(workload).l1) <= workload.m * step
        counts = seeded(6).integers(10**4, 10**5, 8)
        exactly = [sum(int(c) * Fraction(b) for c, b in zip(counts, row, strict=True)) for row in B]
        rows = Rows(np.array(list(itertools.product(range(2), repeat=3))), counts)
        counted = rows.with_undivided_sums
        assert [Fraction(f) for f in own.answers_of_rows(counted)] == exactly
        assert (counted.n, counted.sum_divisor) == (rows.n, 1)
        assert rows.sum_divisor == rows.n
    assert noise_grid.workload_on_grid(Marginals.all(CUBE, 2), n)[1] == 1.0
    assert noise_grid.has_grid(CellAnswers(REAL, subspace=True))


# The key stream


def test_the_generator_is_the_cipher_with_the_whole_key():
    for key in (bytes(32), bytes(range(32)), bytes(31) + b"\x80"):
        stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(320))
        drawn = entropy._chacha20(int.from_bytes(key, "little")).random_raw(40)
        assert np.asarray(drawn).astype("<u8").tobytes() == stream


def test_no_two_generators_share_a_key_and_all_bits_of_it_come_from_the_system(monkeypatch):
    asked = []
    monkeypatch.setattr(
        entropy.secrets, "token_bytes", lambda size: asked.append(size) or bytes(size)
    )
    same = [entropy.generator(entropy.new_key(), "noise").integers(0, 2**63) for _ in range(2)]
    assert same[0] == same[1]
    assert asked == [32, 32]
    monkeypatch.undo()

    def drawn(purpose):
        return int(entropy.generator(entropy.new_key(), purpose).integers(0, 2**63))

    assert max(Counter(drawn("noise") for _ in range(50)).values()) == 1
    key = entropy.new_key()
    purposes = {int(entropy.generator(key, f"{i}").integers(0, 2**63)) for i in range(50)}
    assert len(purposes) == 50, "one key gives every purpose a stream of its own"
    assert stats.kstest(entropy.generator(key, "noise").random(20_000), "uniform").pvalue > 1e-5
