"""The closed set of statistics that may be asked of rows, each with its sensitivity derived."""

from .density_targets import Density, PerturbedRisk, PlainRisk, RankError, RegularisedRisk
from .gradients import MeanGradient, RegularisedMinimiser
from .query_answers import ONE_TABLE, Answers, CellAnswers, Sensitivity, SignedErrors, SomeAnswers, WeightedTables
from .query_draws import AcceptProbabilities, bit_range
from .residual_answers import Residuals
from .selection_scores import AbsoluteErrors, TableErrors, sparse_scales
from .votes import CodeVotes, Votes
