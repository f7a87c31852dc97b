"""Finding parameters that compute a given function, from random starts (lengyel2020, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.genni.function import check, check_target, outputs, random_starts
from intertwine.genni.grid import loss_at
from intertwine.genni.target import energy_of

# a solution counts as dependent if its distance from the others' plane is below this share of its distance
INDEPENDENT = 1e-2


class Solutions(NamedTuple):
    """The result of `search`.

    Example:
        >>> tried = pd.DataFrame({"start": [0], "relative_loss": [0.0], "verdict": ["accepted"]})
        >>> Solutions(torch.zeros(1, 4), torch.zeros(1), tried).points.shape
        torch.Size([1, 4])
    """

    points: Float[Tensor, "m1 p"]
    """m+1 affinely independent parameter vectors."""
    relative_loss: Float[Tensor, " m1"]
    """J/E[y²] of each on the held-out inputs."""
    tried: pd.DataFrame
    """Columns start, relative_loss, verdict (accepted, dependent, refused, not needed); one row per start."""


def search(
    model: nn.Module,
    target: Callable[[Tensor], Tensor],
    inputs: Float[Tensor, "n ..."],
    m: int,
    *,
    seed: int,
    accept: float = 1e-4,
    held_out: Float[Tensor, "_ ..."] | None = None,
    starts: int | Float[Tensor, "k p"] | None = None,
    gain: float = 1.0,
    steps: int = 1000,
    lr: float = 0.03,
    batch_size: int = 256,
) -> Solutions:
    """m+1 affinely independent parameter vectors that compute the target, trained together by Adam.

    Example:
        >>> from intertwine import models
        >>> x = torch.randn(200, 1, generator=torch.Generator().manual_seed(0))
        >>> found = search(models.fcn(), lambda x: x.relu() + 0.2 * x, x, m=1, seed=0)
        >>> found.points.shape, bool((found.relative_loss < 1e-4).all())
        (torch.Size([2, 4]), True)

    A start is accepted by its loss on inputs that it was not trained on, relative to the target's mean square
    E[y²]; then the first m+1 that are affinely independent are taken. lengyel2020 takes the first m+1 of all.
    A vector that trains to the same point as another, or into the plane of those before it, is passed over.

    Args:
        model: any network; of its parameters only the shapes matter.
        target: a function of inputs, such as another network.
        inputs: to train on; their dtype and device are those of the search.
        m: dimension of the plane that the solutions are to span.
        seed: of the starts.
        accept: the largest J/E[y²] on `held_out`.
        held_out: other inputs; the last quarter of `inputs` when not given, which is then not trained on.
        starts: how many, 4(m+1) when not given; or the starts themselves.
        gain: a factor of the starts, which are otherwise as the modules of the network draw them.
        steps: of Adam, with a cosine schedule from `lr` to 0.
        batch_size: inputs of a step; they are taken in turn.

    Raises:
        ValueError: a zero or constant target, its outputs of another shape than the network's, or m + 1 above
            the number of starts; raised before any work.
        RuntimeError: fewer than m+1 accepted, with the best loss there was.
    """
    if held_out is None:
        quarter = max(1, len(inputs) // 4)
        inputs, held_out = inputs[:-quarter], inputs[-quarter:]
    with torch.no_grad():
        y, y_held_out = target(inputs), target(held_out)
    energy_of(y)
    energy = energy_of(y_held_out)
    if not isinstance(starts, Tensor):
        starts = random_starts(model, starts or 4 * (m + 1), seed=seed, gain=gain)
    if m < 1 or len(starts) < m + 1:
        raise ValueError(
            f"Expected m of 1 or more and m + 1 starts, was given m={m} and {len(starts)} starts."
        )
    points = descend(model, starts.to(inputs), inputs, y, steps=steps, lr=lr, batch_size=batch_size)
    relative = loss_at(model, y_held_out, points, held_out) / energy
    chosen: list[int] = []
    verdicts = []
    for k, loss in enumerate(relative.tolist()):
        if not loss <= accept:  # nan is refused
            verdicts.append("refused")
        elif len(chosen) == m + 1:
            verdicts.append("not needed")
        elif _adds(points[k], points[chosen]):
            chosen.append(k)
            verdicts.append("accepted")
        else:
            verdicts.append("dependent")
    tried = pd.DataFrame(
        {"start": range(len(points)), "relative_loss": relative.tolist(), "verdict": verdicts}
    )
    if len(chosen) < m + 1:
        raise RuntimeError(
            f"Expected {m + 1} affinely independent solutions, found {len(chosen)}: of {len(points)} starts "
            f"{verdicts.count('refused')} have a relative loss above {accept:g} (the best has "
            f"{relative.min():.2g}) and {verdicts.count('dependent')} are dependent. Give more starts or "
            f"steps, or a larger accept."
        )
    return Solutions(points[chosen], relative[chosen], tried)


def descend(
    model: nn.Module,
    starts: Float[Tensor, "k p"],
    inputs: Float[Tensor, "n ..."],
    y: Float[Tensor, "n ..."],
    *,
    steps: int,
    lr: float,
    batch_size: int = 256,
    optimizer: Literal["adam", "sgd"] = "adam",
) -> Float[Tensor, "k p"]:
    """Gradient descent on J/E[y²] from k starts at once, as one tensor, each independent of the others.

    Example:
        >>> x = torch.linspace(-1, 1, 50)[:, None]
        >>> found = descend(nn.Linear(1, 1), torch.zeros(2, 2), x, 3 * x + 1, steps=300, lr=0.1)
        >>> torch.allclose(found, torch.tensor([[3.0, 1.0]] * 2), atol=1e-3)
        True

    Args:
        model: any network.
        starts: parameter vectors, in the dtype of `inputs`.
        inputs: taken in turn, `batch_size` for each step.
        y: the target's outputs on them.
        lr: "adam" lets it fall to 0 by a cosine; with "sgd" it is constant, without momentum. Steps of SGD at
            rate r on J itself are steps at rate r·E[y²] here.

    Returns:
        The parameter vectors after the last step.
    """
    check(model, starts, inputs)
    check_target(model, y, inputs)
    y = y.detach()
    points = starts.detach().clone().requires_grad_()
    energy = y.square().flatten(1).sum(1).mean()
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    stepper = kind([points], lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(stepper, steps) if optimizer == "adam" else None
    batches = max(1, len(inputs) // batch_size)
    for step in range(steps):
        batch = slice((step % batches) * batch_size, (step % batches + 1) * batch_size)
        stepper.zero_grad()
        gap = (outputs(model, points, inputs[batch]) - y[batch]).square()
        (gap.flatten(2).sum(2).mean(1).sum() / energy).backward()
        stepper.step()
        if schedule:
            schedule.step()
    return points.detach()


def _adds(theta: Float[Tensor, " p"], points: Float[Tensor, "k p"]) -> bool:
    """Whether θ lies off the affine span of the points."""
    if not len(points):
        return True
    gap, span = (theta - points[0]).double(), (points[1:] - points[0]).double().T
    basis = torch.linalg.qr(span).Q
    size = max(gap.norm(), points[0].norm())
    return bool((gap - basis @ (basis.T @ gap)).norm() > INDEPENDENT * size)
