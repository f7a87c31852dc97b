"""Do two networks compute the same, and if not, where do they begin to differ?"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from intertwine.checks import check_finite, check_model
from intertwine.devices import precise, tolerated
from intertwine.weightspace.trace.run import Run
from intertwine.weightspace.trace.trace import Outputs, trace
from intertwine.weightspace.uses.verify import relative_error


class Equivalence(NamedTuple):
    """Whether outputs agree, which is its truth value; how far they differ; and where that begins.

    Attributes:
        error: the largest difference of outputs, relative to their largest value.
        module: the first module whose output is no linear image of what it was before; "" if there is none.
    """

    equal: bool
    error: float
    module: str

    def __bool__(self) -> bool:
        return self.equal


def equivalent(
    before: nn.Module,
    after: nn.Module,
    inputs: Any,
    *,
    outputs: Outputs = None,
    tolerance: float | None = None,
) -> Equivalence:
    """Whether two networks have the same outputs; else the first module that broke.

    Example:
        >>> before = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> after = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
        >>> bool(equivalent(before, before, torch.randn(50, 3)))
        True
        >>> equivalent(before, after, torch.randn(50, 3)).module in ("1", "2")
        True

    Every element of the group acts on representations by matrices. So a module whose output was moved is
    compared up to the best linear map, and a module with fewer rows of outputs (inputs times positions) than
    units is not compared. Modules after a wrong weight may still pass, if a linear map explains it.

    Args:
        before, after: in evaluation mode, with modules of the same names.
        inputs, outputs: as `find_symmetries` takes them.
        tolerance: of relative errors. By default 1e-4, which leaves room for float32, and for weights of 16
            bits ε^(2/3), ε the rounding unit of their dtype: 0.04 in bfloat16, 0.01 in float16.

    Returns:
        Whether they agree, the `error`, and the `module` where they begin to differ.

    See Also:
        `verify` compares representations of a model and of the same model moved.

    Raises:
        ValueError: weights that are NaN or infinite.
    """
    for model, which in ((before, "first"), (after, "second")):
        check_model(model)
        check_finite(model, which)
    tolerance = tolerated(before, after) if tolerance is None else tolerance
    if not tolerance >= 0:
        raise ValueError(f"Expected a tolerance of at least 0, was given {tolerance}.")
    one, other = (trace(each, inputs, outputs) for each in (before, after))
    error = output_error(one, other)
    if error <= tolerance:
        return Equivalence(True, error, "")
    both = [name for name in one.modules if name in other.modules]
    last = {name: (one.modules[name][-1][1], other.modules[name][-1][1]) for name in both}
    # in the order of the run, in which later modules inherit the difference
    for name, (k, m) in sorted(last.items(), key=lambda item: item[1][0]):
        if not _linear(one.values[k], other.values[m], tolerance):
            return Equivalence(False, error, name)
    return Equivalence(False, error, max(last, key=lambda name: last[name][0], default=""))


def output_error(before: Run, after: Run) -> float:
    """The largest difference of outputs, relative to their largest value; infinite for other shapes."""
    pairs = [(before.values[k], after.values[m]) for k, m in zip(before.outputs, after.outputs, strict=False)]
    errors = [relative_error(y, x) for x, y in pairs if x.shape == y.shape]
    return max(errors) if len(errors) == len(before.outputs) == len(after.outputs) else float("inf")


def _linear(x: Tensor, y: Tensor, tolerance: float) -> bool:
    """Whether units of y are linear functions of units of x, as far as there are enough rows to tell."""
    if x.shape != y.shape or not (x.is_floating_point() or x.is_complex()) or x.ndim < 2:
        return x.shape == y.shape
    dim = 1 if x.ndim in (4, 5) else -1  # channels of images are second
    # on the CPU, where LAPACK solves what has dead units, too; lstsq of a GPU wants full rank
    x, y = (precise(z.detach()).cpu().movedim(dim, -1).flatten(0, -2) for z in (x, y))
    # some linear map fits fewer rows than units exactly
    if len(x) <= x.shape[1] or not (x.isfinite().all() and y.isfinite().all()):
        return True
    rest = y - x @ torch.linalg.lstsq(x, y).solution
    return bool(rest.norm() <= 10 * tolerance * y.norm())
