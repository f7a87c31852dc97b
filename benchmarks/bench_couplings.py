"""Which axes of parameters move together: ours beside the dependency graph of Torch-Pruning.

    python benchmarks/bench_couplings.py [--record]

Torch-Pruning removes whole units. It follows gradients back through one run and has a rule for each kind of
layer, where `find_symmetries` has one for each function of torch. It is in no extra, and is compared where it
is installed. `--record` writes the table of the book's page *Beside other libraries*. Fails where one of
theirs is not among ours.
"""

import sys
import warnings
from collections.abc import Iterable
from importlib.util import find_spec

import torch
from paired import HERE, write
from torch import nn

from intertwine.weightspace import find_symmetries

Coupling = frozenset[tuple[str, int]]
"""Axes of parameters whose units are removed, or permuted, at once."""

NETWORKS = (
    *("resnet18", "resnet50", "vgg11_bn", "mobilenet_v2", "mobilenet_v3_small", "densenet121", "googlenet"),
    *("regnet_x_400mf", "efficientnet_b0", "convnext_tiny", "squeezenet1_1", "shufflenet_v2_x0_5"),
)


def ours(model: nn.Module, x: torch.Tensor) -> set[Coupling]:
    """Of `spec`, without buffers."""
    parameters = {name for name, _ in model.named_parameters()}
    return {
        frozenset(axis for axis in axes if axis[0] in parameters)
        for axes in find_symmetries(model, x).spec.values()
    }


def theirs(model: nn.Module, x: torch.Tensor) -> set[Coupling]:
    """Of every group whose root is a convolution or a linear layer."""
    import torch_pruning

    names = {
        part: name for parts in (model.named_modules(), model.named_parameters()) for name, part in parts
    }
    graph = torch_pruning.DependencyGraph().build_dependency(model, example_inputs=x)
    found = set()
    for group in graph.get_all_groups(root_module_types=[nn.Conv2d, nn.Linear]):
        axes = set()
        for dependency, _ in group:
            layer, prune = dependency.target.module, dependency.handler.__name__
            at = names.get(layer)
            if at is None:  # a reshape, or a sum
                continue
            if isinstance(layer, nn.Parameter):  # of no layer, such as a scale of its own
                axes.add((at, max(k for k, size in enumerate(layer.shape) if size > 1)))
            elif isinstance(layer, nn.Conv2d | nn.Linear):
                reads = "in_channels" in prune
                depthwise = isinstance(layer, nn.Conv2d) and layer.groups == layer.out_channels > 1
                axes.add((f"{at}.weight", 1 if reads and not depthwise else 0))
                if layer.bias is not None and (not reads or depthwise):
                    axes.add((f"{at}.bias", 0))
            else:
                axes |= {(f"{at}.{own}", 0) for own, _ in layer.named_parameters(recurse=False)}
        found.add(frozenset(axes))
    return found


def united(finer: Iterable[Coupling], coarser: Iterable[Coupling]) -> set[Coupling]:
    """The finer couplings, those united that one of the coarser holds: a gain may have scalars of its own."""
    finer = set(finer)
    return {
        frozenset[tuple[str, int]]().union(*(each for each in finer if each <= whole)) for whole in coarser
    }


def row(name: str) -> dict[str, object]:
    from torchvision import models

    torch.manual_seed(0)
    model, x = getattr(models, name)(weights=None).eval(), torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        classes = model(x).shape[1]
    mine = ours(model, x)
    model.requires_grad_(True)
    try:
        peer = theirs(model, x)
    except Exception as error:  # of the peer: said in the table
        said = type(error).__name__
        return {"network": name, "ours": len(mine), "Torch-Pruning": said, "covered": "", "ours alone": ""}
    last = {
        axes for axes in peer if all(dict(model.named_parameters())[at].shape[k] == classes for at, k in axes)
    }
    peer -= last  # the outputs, which must stay
    covered = len(united(mine, peer) & peer)
    alone = sum(not any(axes <= whole for whole in peer) for axes in mine)
    counts = {"ours": len(mine), "Torch-Pruning": len(peer), "covered": covered, "ours alone": alone}
    return {"network": name, **counts}


def main(record: bool) -> None:
    if find_spec("torch_pruning") is None:
        print("torch_pruning is not installed")
        return
    warnings.simplefilter("ignore")  # the peer's
    rows = []
    for name in NETWORKS:
        rows.append(row(name))
        print(rows[-1], flush=True)
    if record:
        write(HERE / "couplings.csv", rows[0], ([str(cell) for cell in each.values()] for each in rows))
    compared = [each for each in rows if isinstance(each["Torch-Pruning"], int)]
    if different := [each["network"] for each in compared if each["Torch-Pruning"] != each["covered"]]:
        sys.exit(
            f"Expected every coupling of the peer among ours, not so in {', '.join(map(str, different))}."
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    main("--record" in sys.argv)
