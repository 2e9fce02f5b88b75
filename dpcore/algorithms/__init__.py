"""The registry: an algorithm is a class, its text in `about.toml`, and one line here.

>>> ALGORITHMS["mwem"] is MWEM
True
"""

from .algorithm import Algorithm
from .points.private_evolution import PrivateEvolution
from .points.signed_measure import PSMM
from .query_release.aim import AIM
from .query_release.dual_query import DQRS, DualQuery
from .query_release.frank_wolfe import DPFW
from .query_release.gem_and_rap import GEM, RAP
from .query_release.maximum_entropy import GaussianMaxEnt
from .query_release.mirror_descent import DPAM
from .query_release.mwem import MWEM
from .query_release.pep import PEP
from .query_release.perturbed_leader import FEM, SepFEM
from .query_release.pmw import PMW
from .query_release.private_evolution_table import PrivateEvolutionTable
from .query_release.residual import Residual
from .risk.exponential_samplers import (
    AlternatingSampler,
    Exponential,
    RankExponential,
    RegularizedExponential,
)
from .risk.gradient_descent import DPSGD, NoisyGD
from .risk.perturbation import ObjectivePerturbation, OutputPerturbation

ALGORITHMS: dict[str, type] = {
    "gaussian_maxent": GaussianMaxEnt,
    "dpfw": DPFW,
    "dpam": DPAM,
    "mwem": MWEM,
    "dualquery": DualQuery,
    "dqrs": DQRS,
    "fem": FEM,
    "sepfem": SepFEM,
    "gem": GEM,
    "rap": RAP,
    "pep": PEP,
    "aim": AIM,
    "residual": Residual,
    "pmw": PMW,
    "regularized_exponential": RegularizedExponential,
    "alternating_sampler": AlternatingSampler,
    "exponential": Exponential,
    "rank_exponential": RankExponential,
    "noisy_gd": NoisyGD,
    "dp_sgd": DPSGD,
    "objective_perturbation": ObjectivePerturbation,
    "output_perturbation": OutputPerturbation,
    "private_evolution_table": PrivateEvolutionTable,
    "private_evolution": PrivateEvolution,
    "psmm": PSMM,
}


def algorithms_for_problem(problem_type: type) -> dict[str, type]:
    """Return the registered algorithms for one kind of problem, by name."""
    return {name: cls for name, cls in ALGORITHMS.items() if cls.problem is problem_type}


def registered_name(algorithm: Algorithm) -> str:
    """Return the name of an algorithm in ALGORITHMS.

    The class's name where it is not registered.
    """
    cls = type(algorithm)
    return next(
        (name for name, algorithm_type in ALGORITHMS.items() if algorithm_type is cls), cls.__name__
    )
