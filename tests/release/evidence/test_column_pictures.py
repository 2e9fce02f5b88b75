"""The pictures of a card: bars as high as the shares, hostile names as text."""

import re
import xml.etree.ElementTree as ET

import numpy as np

from dpcore.accuracy.column_views import view_group
from dpcore.accuracy.intervals.unbiased_tables import pool_tables
from dpcore.models.releases import SyntheticRows
from dpcore.privacy.noisy_answers import NoisyAnswers
from dpcore.queries import Marginals
from dpcore.release.evidence import column_pictures, document_checks
from dpcore.release.evidence.column_pictures import draw_column_pictures
from tests.small_problems import categorical, domain_of

HOSTILE = ['a.b[0]" onload="x', "<script>alert(1)</script>", "{{ 1 }}", "</svg>"]
DOMAIN = domain_of({f"{HOSTILE[i % 4]}{i}": categorical(*HOSTILE[: 2 + i % 3]) for i in range(14)})


def drawn(*, measured):
    codes = np.zeros((100, 14), int)
    codes[:25] = 1
    release = SyntheticRows.from_rows(DOMAIN, codes)
    singles = Marginals.all(DOMAIN, 1)
    noisy = NoisyAnswers(singles, release.answers(singles), np.full(singles.m, 0.01))
    unbiased = pool_tables(DOMAIN, [noisy]) if measured else None
    view = view_group(release, DOMAIN, {}, unbiased_answers=unbiased)
    return str(draw_column_pictures(view, DOMAIN, 1000, "people"))


def test_pictures_are_well_formed_and_show_hostile_names_as_text():
    picture = drawn(measured=True)
    root = ET.fromstring(picture)
    assert {part.tag for part in root.iter()} == {"svg", "rect", "title", "line", "text"}
    assert "alert(1)" in "".join(root.itertext())
    assert not document_checks.ACTIVE_CONTENT.search(picture)
    assert not document_checks.HIDDEN_CONTENT.search(picture)
    names = [text for text in root.iter("text") if text.get("font-size") == "14"]
    assert len({name.text for name in names}) == column_pictures.MAX_PICTURES, "all differ"


def test_bars_are_as_high_as_their_shares_and_say_their_intervals():
    root = ET.fromstring(drawn(measured=True))
    bars = list(root.iter("rect"))
    heights = {bar[0].text: float(bar.get("height")) for bar in bars}
    first, second = (bar[0].text for bar in bars[:2])
    assert np.isclose(heights[second] / heights[first], 1 / 3, atol=0.01)
    assert re.search(r": 750 people \(95%: 7[23]\d to 7[67]\d\)$", first)
    assert len(list(root.iter("line"))) == len(bars)
    root = ET.fromstring(drawn(measured=False))
    assert not list(root.iter("line"))
    assert next(root.iter("rect"))[0].text.endswith(": 750 people")
