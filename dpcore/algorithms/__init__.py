"""The registry: adding an algorithm is one class, what is said of it in `about.toml`, and one line here."""

from .base import Algorithm
from .dual_query import DQRS, DualQuery
from .entropy_projection import PEP
from .evolution import PrivateEvolution
from .evolution_table import PrivateEvolutionTable
from .frank_wolfe import DPFW
from .gradient_descent import DPSGD, NoisyGD
from .graphical import AIM
from .maximum_entropy import GaussianMaxEnt
from .mirror_descent import DPAM
from .multiplicative_weights import MWEM
from .perturbation import ObjectivePerturbation, OutputPerturbation
from .perturbed_leader import FEM, SepFEM
from .private_multiplicative_weights import PMW
from .regularised import AlternatingSampler, Exponential, RankExponential, RegularizedExponential
from .relaxed import GEM, RAP
from .residual import Residual
from .signed_measure import PSMM

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


def solving(problem: type) -> dict[str, type]:
    """The registered algorithms for one kind of problem."""
    return {name: cls for name, cls in ALGORITHMS.items() if cls.problem is problem}


def registered_name(algorithm: Algorithm) -> str:
    """The name of an algorithm in ALGORITHMS, or its class's name where it is not registered."""
    cls = type(algorithm)
    return next((name for name, known in ALGORITHMS.items() if known is cls), cls.__name__)
