"""Mixtures of product distributions, fitted by gradient steps to noisy answers.

Sees noisy answers, never rows.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..core.types import Array, Rng, frozen
from ..queries import Workload
from ..queries.product_answers import ProductAnswers, column_slices

ADAM_DECAY_RATES = (0.9, 0.99)  # Adam's decay rates for the mean gradient and its mean square
# sizes of the generator's layers
GENERATOR_INPUTS = 16
HIDDEN_UNITS = 64


class RelaxedRows:
    """C relaxed synthetic rows, each a product distribution whose logits are parameters.

    Every logit is a parameter; the rows are spread about `start` at first.
    """

    learning_rate = 0.1  # of Adam

    def __init__(self, start: Array, C: int, rng: Rng) -> None:
        self.parameters = [start[:, None] + 0.5 * rng.normal(size=(len(start), C))]

    def forward(self) -> Array:
        """Return the logits (Σ d_i, C), which are the only parameter."""
        return self.parameters[0]

    def backward(self, g: Array) -> list[Array]:
        """Return the gradient in the only parameter, which is that in the logits."""
        return [g]


class GeneratorNetwork:
    """A two-layer network that makes logits = B tanh(Az + a) + b from noise z.

    z (GENERATOR_INPUTS, C) is drawn once for all components. A (HIDDEN_UNITS, GENERATOR_INPUTS), a
    (HIDDEN_UNITS, 1), B (Σ d_i, HIDDEN_UNITS), b (Σ d_i, 1); the logits start near `start`, which
    is b.
    """

    learning_rate = 0.01

    def __init__(self, start: Array, C: int, rng: Rng) -> None:
        self.z = rng.normal(size=(GENERATOR_INPUTS, C))
        A = rng.normal(size=(HIDDEN_UNITS, GENERATOR_INPUTS)) / math.sqrt(GENERATOR_INPUTS)
        B = 0.5 * rng.normal(size=(len(start), HIDDEN_UNITS)) / math.sqrt(HIDDEN_UNITS)
        self.parameters = [A, rng.normal(size=(HIDDEN_UNITS, 1)), B, start[:, None].copy()]

    def forward(self) -> Array:
        """Return the logits (Σ d_i, C), B h + b, with h = tanh(Az + a) kept for the gradient."""
        A, a, B, b = self.parameters
        self.h = np.tanh(A @ self.z + a)
        return B @ self.h + b

    def backward(self, g: Array) -> list[Array]:
        """Return the gradients in A, a, B and b by the chain rule, with tanh' = 1 − tanh²."""
        hidden_gradient = (self.parameters[2].T @ g) * (1 - self.h**2)
        return [
            hidden_gradient @ self.z.T,
            hidden_gradient.sum(axis=1, keepdims=True),
            g @ self.h.T,
            g.sum(axis=1, keepdims=True),
        ]


@frozen
class NoisyTarget:
    """Noisy answers y (J,) to fit, and their precisions 1/σ² (J,).

    `products` are the answers as a function of product distributions.
    """

    products: ProductAnswers
    y: Array
    precision: Array


class MixtureFit:
    """A mixture of C product distributions with equal weights (C,), and Adam's state.

    `p` (Σ d_i, C) is the softmax of the logits within every column; `base` (Σ d_i,) is log p_0 of
    the product distribution that the prior draws towards.
    """

    def __init__(
        self, workload: Workload, logits: "RelaxedRows | GeneratorNetwork", base: Array
    ) -> None:
        parts = column_slices(workload.domain)
        self.starts = [part.start for part in parts]
        self.sizes = [part.stop - part.start for part in parts]
        self.logits = logits
        self.base = base[:, None]
        self.t = 0
        self.mean = [np.zeros_like(x) for x in logits.parameters]
        self.square = [np.zeros_like(x) for x in logits.parameters]
        self._recompute_distributions()

    def _recompute_distributions(self) -> None:
        """Compute p and its logarithm from the logits; the weights are even."""
        x = self.logits.forward()
        x = x - self._combine_by_column(np.maximum, x)
        self.log_p = x - np.log(self._combine_by_column(np.add, np.exp(x)))
        self.p = np.exp(self.log_p)
        self.weights = np.full(self.p.shape[1], 1 / self.p.shape[1])

    def _combine_by_column(self, combine: np.ufunc, x: Array) -> Array:
        """Return values x (Σ d_i, C), combined within every column.

        The result is written to each of the column's values.
        """
        return np.repeat(combine.reduceat(x, self.starts, axis=0), self.sizes, axis=0)

    def objective(self, targets: Sequence[NoisyTarget], prior: float) -> tuple[float, Array]:
        """Return the objective of the fit and its gradient in the logits.

        The objective is ½ Σ_j ((answers_j − y_j)/σ_j)² + prior · Σ_c w_c KL(p_c ‖ p_0). The last
        sum bounds KL(D ‖ p_0) of the mixture D from above, as KL is convex.
        """
        log_ratio = self.log_p - self.base
        value = prior * float((self.p * log_ratio).sum(axis=0) @ self.weights)
        g = prior * self.weights * log_ratio
        for target in targets:
            gap = target.products.answers(self.p, self.weights) - target.y
            value += float(gap @ (target.precision * gap)) / 2
            g += target.products.gradient(self.p, self.weights, target.precision * gap)
        return value, self.p * (g - self._combine_by_column(np.add, self.p * g))

    def descend(self, targets: Sequence[NoisyTarget], prior: float, steps: int) -> None:
        """Take `steps` steps of Adam down the objective, at a rate that falls to 0 along a cosine.

        Source: Kingma, Ba 2015, Algorithm 1.
        """
        for i in range(steps):
            _, g = self.objective(targets, prior)
            self.t += 1
            rate = self.logits.learning_rate * (1 + math.cos(math.pi * i / steps)) / 2
            mean_correction = 1 - ADAM_DECAY_RATES[0] ** self.t
            square_correction = 1 - ADAM_DECAY_RATES[1] ** self.t
            moments = zip(
                self.mean, self.square, self.logits.parameters, self.logits.backward(g), strict=True
            )
            for mean, square, parameter, gradient in moments:
                mean += (1 - ADAM_DECAY_RATES[0]) * (gradient - mean)
                square += (1 - ADAM_DECAY_RATES[1]) * (gradient**2 - square)
                parameter -= (
                    rate * (mean / mean_correction) / (np.sqrt(square / square_correction) + 1e-12)
                )
            self._recompute_distributions()
