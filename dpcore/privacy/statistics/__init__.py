"""The closed set of statistics that may be asked of rows, each with its sensitivity derived."""

from .answers import ONE_TABLE, Answers, CellAnswers, Sensitivity, SignedErrors, SomeAnswers, WeightedTables
from .gradients import MeanGradient, RegularisedMinimiser
from .query_draws import AcceptProbabilities, bit_range
from .residuals import Residuals
from .scores import AbsoluteErrors, TableErrors, sparse_scales
from .targets import Density, PerturbedRisk, PlainRisk, RankError, RegularisedRisk
from .votes import CodeVotes, Votes
