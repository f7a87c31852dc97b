"""Finding parameters that compute a given function, from random starts (lengyel2020, Algorithm 1)."""

import copy
from typing import Any, Literal, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.checks import check_choice, check_generator, whole
from intertwine.genni.grid import loss_at
from intertwine.genni.parametric import check_points, evaluated, like_inputs, parameter_vector
from intertwine.genni.problem import Problem, check_problem

# a solution θ is dependent if it is nearer to the others' plane than this share of the larger of |θ − θ₀| and
# |θ₀|, where θ₀ is the first: trained points are equal only about as well as training ended
INDEPENDENT = 1e-2


class Solutions(NamedTuple):
    """Parameter vectors that compute the target, and what became of every start."""

    points: Float[Tensor, "m1 p"]
    """m+1 affinely independent parameter vectors."""
    relative_loss: Float[Tensor, " m1"]
    """J/E[y²] of each on the held-out inputs."""
    tried: pd.DataFrame
    """Columns start, relative_loss, verdict (accepted, dependent, refused, not needed); one row per start."""


def search(
    problem: Problem,
    m: int,
    *,
    seed: int,
    accept: float = 1e-4,
    starts: int | Float[Tensor, "k p"] | None = None,
    steps: int = 1000,
    lr: float = 0.03,
    batch_size: int = 256,
) -> Solutions:
    """m+1 affinely independent parameter vectors that compute the target, trained together by Adam.

    Example:
        >>> model = nn.Sequential(
        ...     nn.Linear(1, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False)
        ... ).eval()
        >>> x = torch.randn(200, 1, generator=torch.Generator().manual_seed(0))
        >>> found = search(
        ...     Problem(model, lambda x: x.relu() + 0.2 * x, x), m=1, seed=0
        ... )
        >>> found.points.shape, bool((found.relative_loss < 1e-4).all())
        (torch.Size([2, 4]), True)

    A start is accepted by its loss on inputs that it was not trained on, relative to the target's mean square
    E[y²]. Of those accepted the first m+1 are taken that are affinely independent. So a vector is passed over
    if it trains to the same point as another, or into the plane of those before it. lengyel2020 takes the
    first m+1 of all starts, whatever their loss.

    Args:
        problem: network, target and inputs.
        m: dimension of the plane that the solutions are to span.
        seed: of the starts.
        accept: the largest J/E[y²] on the last quarter of the inputs, which is not trained on.
        starts: how many, 4(m+1) when not given, drawn by `random_starts`; or the starts themselves.
        steps: of Adam, with a cosine schedule from `lr` to 0.
        lr: the first learning rate.
        batch_size: inputs of a step; they are taken in turn.

    Returns:
        The parameter vectors as `points`, and what became of each start.

    See Also:
        `plane` lays a plane through the points, `grid_loss` evaluates the loss there.

    Raises:
        ValueError: a zero or constant target, its outputs of another shape than the network's, or m + 1 above
            the number of starts; raised before any work.
        RuntimeError: fewer than m+1 accepted, with the best loss there was.
    """
    check_problem(problem)
    m, draw = whole("m", m, 1), torch.Generator().manual_seed(whole("seed", seed))
    if m > (p := parameter_vector(problem.network).numel()):
        raise ValueError(f"Expected m of at most {p}, for the network has {p} parameters, was given {m}.")
    # the last quarter of the inputs judges, so that nobody is accepted for what it learnt by heart
    quarter = max(1, len(problem.inputs) // 4)
    problem, judge = problem.on(problem.inputs[:-quarter]), problem.on(problem.inputs[-quarter:])
    energies = problem.energy, judge.energy  # raises for a constant target, on either part, before any work
    if not isinstance(starts, Tensor):
        number = 4 * (m + 1) if starts is None else whole("starts", starts, m + 1)
        starts = random_starts(problem.network, number, generator=draw)
    if len(starts) < m + 1:
        raise ValueError(f"Expected m + 1 starts, was given m={m} and {len(starts)} starts.")
    starts = like_inputs(starts, judge.inputs)
    points = descend(problem, starts, steps=steps, lr=lr, batch_size=batch_size)
    relative = loss_at(judge, points) / energies[1]
    chosen: list[int] = []
    verdicts = []
    for k, loss in enumerate(relative.tolist()):
        if not loss <= accept:  # so NaN is refused, too
            verdicts.append("refused")
        elif len(chosen) == m + 1:
            verdicts.append("not needed")
        elif _adds(points[k], points[chosen]):
            chosen.append(k)
            verdicts.append("accepted")
        else:
            verdicts.append("dependent")
    columns = {"start": range(len(points)), "relative_loss": relative.tolist(), "verdict": verdicts}
    tried = pd.DataFrame(columns)
    if len(chosen) < m + 1:
        raise RuntimeError(
            f"Expected {m + 1} affinely independent solutions, found {len(chosen)}: of {len(points)} starts "
            f"{verdicts.count('refused')} have a relative loss above {accept:g} (the best has "
            f"{relative.min():.2g}) and {verdicts.count('dependent')} are dependent. "
            f"{_advice(relative, verdicts)}"
        )
    return Solutions(points[chosen], relative[chosen], tried)


def _advice(relative: Float[Tensor, " k"], verdicts: list[str]) -> str:
    if not relative.isfinite().any():
        return "The network's outputs are inf or nan there: choose other inputs, or smaller starts."
    if "refused" not in verdicts:
        return f"They span {verdicts.count('accepted') - 1} dimensions: take a smaller m, or more starts."
    return "Give more starts or steps, or a larger accept."


def random_starts(network: nn.Module, number: int, *, generator: torch.Generator) -> Float[Tensor, "k p"]:
    """Parameter vectors as every module of the network draws its own when it is built.

    Example:
        >>> starts = random_starts(
        ...     nn.Linear(4, 1), 3, generator=torch.Generator().manual_seed(0)
        ... )
        >>> starts.abs().max() <= 0.5  # torch's uniform in ±1/√fan_in
        tensor(True)

    Args:
        network: its own parameters are neither used nor changed; modules with parameters need
            `reset_parameters`.
        number: how many vectors.
        generator: on the CPU, and moved on by the draws.
    """
    check_generator(generator)
    fresh = copy.deepcopy(network).cpu()  # one stream of random numbers, whatever the device
    own: list[Any] = [each for each in fresh.modules() if [*each.parameters(recurse=False)]]
    for module in own:
        if not hasattr(module, "reset_parameters"):
            raise ValueError(
                f"Expected modules with reset_parameters, was given {type(module).__name__} without: pass "
                f"the starts of the search, such as starts=torch.randn(40, {len(parameter_vector(fresh))})."
            )
    starts = []
    with torch.random.fork_rng(devices=[]):  # reset_parameters draws from torch's global generator
        torch.set_rng_state(generator.get_state())
        for _ in range(number):
            for module in own:
                module.reset_parameters()
            starts.append(parameter_vector(fresh))
        generator.set_state(torch.get_rng_state())
    return torch.stack(starts)


def descend(
    problem: Problem,
    starts: Float[Tensor, "k p"],
    *,
    steps: int,
    lr: float,
    batch_size: int = 256,
    optimizer: Literal["adam", "sgd"] = "adam",
) -> Float[Tensor, "k p"]:
    """Gradient descent on J/E[y²] from k starts at once, as one tensor, each independent of the others.

    Example:
        >>> x = torch.linspace(-1, 1, 50)[:, None]
        >>> line = Problem(nn.Linear(1, 1).eval(), lambda x: 3 * x + 1, x)
        >>> found = descend(line, torch.zeros(2, 2), steps=300, lr=0.1)
        >>> torch.allclose(found, torch.tensor([[3.0, 1.0]] * 2), atol=1e-3)
        True

    Args:
        problem: network, target, and inputs, which are taken in turn, `batch_size` for each step.
        starts: k parameter vectors, in the order of `parameter_vector`.
        steps: in all, the same number from each start.
        batch_size: inputs of a step; those that fill no batch are left out.
        optimizer: "sgd" is plain gradient descent.
        lr: "adam" lets it fall to 0 by a cosine; with "sgd" it is constant, without momentum. Steps of SGD at
            rate r on J itself are steps at rate r·E[y²] here.
    """
    check_problem(problem)
    batch_size, inputs, y = whole("batch_size", batch_size, 1), problem.inputs, problem.y
    check_choice("optimizer", optimizer, ("adam", "sgd"))
    check_points(problem.network, starts, inputs)
    points = starts.detach().clone().requires_grad_()
    # the loss is divided by it, so that one learning rate suits targets of any size; `problem.energy` would
    # refuse a constant target
    energy = y.square().flatten(1).sum(1).mean()
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    stepper = kind([points], lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(stepper, steps) if optimizer == "adam" else None
    batches = max(1, len(inputs) // batch_size)  # inputs that fill no batch are left out
    for step in range(steps):
        batch = slice((step % batches) * batch_size, (step % batches + 1) * batch_size)
        stepper.zero_grad()
        squares = (evaluated(problem.network, points, inputs[batch]) - y[batch]).square()
        # a sum over starts: the gradient of each is its own, and Adam works entry by entry
        (squares.flatten(2).sum(2).mean(1).sum() / energy).backward()
        stepper.step()
        if schedule:
            schedule.step()
    return points.detach()


def _adds(theta: Float[Tensor, " p"], points: Float[Tensor, "k p"]) -> bool:
    """Whether θ lies off the affine span of the points, as `INDEPENDENT` says."""
    if not len(points):
        return True
    gap, span = (theta - points[0]).double(), (points[1:] - points[0]).double().T
    basis = torch.linalg.qr(span).Q  # projected out of the gap: what remains is the distance from the span
    # relative to the vectors, too: points that are nearly one differ by what training left
    size = max(gap.norm(), points[0].norm())
    return bool((gap - basis @ (basis.T @ gap)).norm() > INDEPENDENT * size)
