"""The experiment of a command: stated by its arguments, or by the file of a project."""

from argparse import SUPPRESS, Namespace
from dataclasses import replace

from .. import InputError, QueryRelease, read_json
from ..evaluation.experiment import Experiment
from ..evaluation.project import Project
from .arguments import (
    ArgumentSpec,
    algorithm_arguments,
    argument,
    budget_arguments,
    repeat_argument,
    seed_argument,
    stated_budget,
)
from .table_arguments import TASK_ARGUMENTS, build_algorithm, task_from_arguments

EXPERIMENT_HELP = (
    "the file of a project, as Share on every page saves it, in place of all that says what is "
    "asked and how; its table is TABLE, and a public start is to be named anew with --start"
)
TABLE_ARGUMENT, *QUERY_TASK_ARGUMENTS = TASK_ARGUMENTS
STATING_ARGUMENTS = (
    *QUERY_TASK_ARGUMENTS,
    *algorithm_arguments(QueryRelease),
    *budget_arguments(delta=1e-9),
    seed_argument(),
    repeat_argument(),
)
BESIDE_A_PROJECT = ("--stream", "--start")  # what may be said beside a project


def _without_default(spec: ArgumentSpec) -> ArgumentSpec:
    """Return an argument that leaves no trace where it is not given."""
    name, options = spec
    default_text = str(options.get("default"))
    help_text = options["help"].replace("%(default)s", default_text)
    return name, options | {"required": False, "default": SUPPRESS, "help": help_text}


EXPERIMENT_ARGUMENTS = (
    TABLE_ARGUMENT,
    argument("--experiment", "FILE", EXPERIMENT_HELP),
    *map(_without_default, STATING_ARGUMENTS),
)


def experiment_from_arguments(args: Namespace) -> Experiment:
    """Return the experiment that EXPERIMENT_ARGUMENTS state.

    InputError where a project's file and other arguments say the same, or nothing says it.
    """
    if args.experiment is not None:
        return _experiment_of_project(args)
    missing_names = [
        name
        for name, options in STATING_ARGUMENTS
        if options.get("required") and not _is_given(args, name)
    ]
    if missing_names:
        raise InputError(
            f"the following arguments are required: {', '.join(missing_names)}; or --experiment "
            "FILE (see: python -m dpcore run --help)"
        )
    stated = _with_defaults(args)
    return Experiment(
        task=task_from_arguments(stated),
        algorithm=build_algorithm(stated.algorithm, stated.set, QueryRelease),
        budget=stated_budget(stated),
        seed=stated.seed,
        repeat=stated.repeat or 1,
    )


def states_repeats(args: Namespace) -> bool:
    """Return whether a number of repeats is stated, so that runs are written as a list."""
    return args.experiment is not None or _is_given(args, "--repeat")


def _experiment_of_project(args: Namespace) -> Experiment:
    """Return the experiment of the file that --experiment names, on TABLE."""
    other_names = [name for name, _ in STATING_ARGUMENTS if name not in BESIDE_A_PROJECT]
    also_stated = [name for name in other_names if _is_given(args, name)]
    if also_stated:
        raise InputError(f"--experiment says {also_stated[0]} already; leave one of the two out")
    experiment = Project.from_json(read_json(args.experiment)).experiment
    start = getattr(args, "start", None)
    if experiment.task.start is not None and start is None:
        # a file of somebody else must not choose which file of this machine is read
        raise InputError(
            f"{args.experiment[:200]}: starts from the public table "
            f"{experiment.task.start[:200]!r}; say where that is with --start"
        )
    task = replace(
        experiment.task,
        table=args.table,
        start=start,
        stream=getattr(args, "stream", experiment.task.stream),
    )
    return replace(experiment, task=task)


def _with_defaults(args: Namespace) -> Namespace:
    """Return the arguments with the defaults of those that are not given."""
    complete = Namespace(**vars(args))
    for name, options in STATING_ARGUMENTS:
        if not _is_given(args, name):
            is_flag = options.get("action") == "store_true"
            setattr(complete, _attribute(name), False if is_flag else options.get("default"))
    return complete


def _is_given(args: Namespace, name: str) -> bool:
    """Return whether an argument is given."""
    return hasattr(args, _attribute(name))


def _attribute(name: str) -> str:
    """Return the name of an argument's value among all."""
    return name.removeprefix("--").replace("-", "_")
