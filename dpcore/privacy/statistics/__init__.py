"""The closed set of statistics that may be asked of rows, each with its sensitivity derived."""

from .density_targets import Density, PerturbedRisk, PlainRisk, RankError, RegularisedRisk
from .gradients import MeanGradient, RegularisedMinimiser
from .query_answers import (
    ONE_TABLE_SENSITIVITY,
    Answers,
    CellAnswers,
    Sensitivity,
    SignedErrors,
    SomeAnswers,
    WeightedTables,
)
from .query_draws import AcceptProbabilities, keep_bit_epsilon
from .residual_answers import Residuals
from .selection_scores import AbsoluteErrors, TableErrors, sparse_vector_laplace_scales
from .votes import CodeVotes, Votes
