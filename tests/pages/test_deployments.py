"""The public deployments beside the ε slider: their facts, where they stand, and what they are
never shown without.
"""

import numpy as np

from pages._ui.components import deployments
from tests.pages.headless import dataframe, open_page


def test_the_facts_are_those_of_41_records_with_source_and_date():
    text = deployments.DEPLOYMENTS_FILE.read_text()
    assert "commit 3e9c812 of 2026-07-15" in text.splitlines()[1]
    assert "opendp/deployments-registry-data (MIT)" in text.splitlines()[0]
    table = deployments.load_deployments()
    assert 25 < len(table) < 41
    assert not table[["unit", "model", "year", "epsilon"]].isna().any().any()
    assert (np.diff(table["epsilon"]) >= 0).all()


def test_the_nearest_is_told_with_unit_model_and_year():
    said = deployments.deployment_sentence(deployments.nearest_deployment(0.66))
    assert (
        said == "Shared Mobility Dataset (Google, 2022): ε = 0.66, User-trip-level, central model"
    )


def test_explore_shows_them_beside_its_slider_and_says_that_a_bare_epsilon_says_little():
    app = open_page("explore")
    assert deployments.COMPARISON_WARNING in [t.value for t in app.text]
    assert any(t.value.startswith("Nearest to ε = 1: ") for t in app.text)
    assert len(dataframe(app, "ε", "protects", "model", "year")) == len(
        deployments.load_deployments()
    )
