"""What curators hand to the noise, noted instead of drawn."""

import itertools

import numpy as np
import pytest


@pytest.fixture
def asked(monkeypatch):
    """(values, what describes the noise, …) of every call of a mechanism; values leave as they are,
    selections as 0.
    """
    notes = []

    def noting(answer):
        def mechanism(values, *noise, **_):
            notes.append(
                (np.array(values), *(number for number in noise if isinstance(number, float)))
            )
            return answer(values, *noise)

        return mechanism

    patched = dict.fromkeys(
        itertools.product(["mechanisms", "exact_samplers"], ["gaussian", "laplace"]),
        lambda v, *_: v,
    )
    patched["mechanisms", "permute_and_flip"] = lambda *_: 0
    patched["mechanisms", "exponential"] = lambda _values, _scale, draws, _rng: np.zeros(draws, int)
    patched["mechanisms", "apply_threshold"] = lambda _values, noisy, _threshold: noisy
    patched["mechanisms", "first_above"] = lambda *_, **__: None
    patched["mechanisms", "flip_log_coins"] = lambda logs, _rng: logs < 0
    for (module, name), answer in patched.items():
        monkeypatch.setattr(f"dpcore.privacy.{module}.{name}", noting(answer))
    return notes
