"""Training tiny networks of one shape all at once, as slices of the same tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from intertwine.training.arithmetic import input_dtype
from intertwine.training.batches import Batches, fill_of
from intertwine.training.evaluation import check_data
from intertwine.training.fit import fit
from intertwine.training.loop import Trained
from intertwine.training.progress import Tick
from intertwine.training.spec import Spec

ACTIVATIONS = 2**15  # numbers that a layer returns for a batch


def stacking_pays(spec: Spec) -> bool:
    """Whether `train_stacked` is faster than one after another.

    Example:
        >>> from intertwine import data
        >>> from intertwine.training import RECIPES, Spec
        >>> digits = data.load("digits", "train")
        >>> arguments = {"norm": False, "in_channels": 1}
        >>> specs = [Spec("myrtle", digits, RECIPES["digits"], arguments | {"width": w}) for w in (2, 16)]
        >>> [stacking_pays(spec) for spec in specs]
        [True, False]

    It spares the cost of calling a layer, and pays where that is what a step costs: measured on a CPU, for
    four networks or more, while no layer returns more than 2¹⁵ numbers for a batch. Batch norm and dropout
    cannot be stacked, nor can anything else that draws.
    """
    network = spec.build(seed=0)
    if not _can_be_stacked(network):
        return False
    sizes = [0]
    for module in network.modules():
        module.register_forward_hook(lambda module, inputs, output: sizes.append(torch.numel(output)))
    with torch.no_grad(), torch.random.fork_rng([]):
        before = torch.get_rng_state()
        network(spec.data.images[:1].to("cpu", input_dtype(network, torch.float32)))
        draws = not torch.equal(before, torch.get_rng_state())
    return not draws and max(sizes) * spec.recipe.batch_size <= ACTIVATIONS


def train_stacked(
    spec: Spec, seeds: Sequence[tuple[int, int]], device: torch.device, tick: Tick
) -> list[Trained]:
    """Train one network per pair of seeds (initialisation, order); a step is one step of each."""
    networks = [spec.build(seed=init).to(device) for init, _ in seeds]
    first = networks[0]
    if not _can_be_stacked(first):
        raise ValueError(
            f"Expected networks without batch norm and dropout to stack, was given {spec.name} with them: "
            f"choose another way."
        )
    check_data(first, spec.data.images, spec.data.labels)
    stacked, _ = stack_module_state(networks)
    parameters = {name: nn.Parameter(values.detach()) for name, values in stacked.items()}
    member = vmap(lambda parameters, images: functional_call(first, parameters, (images,)))
    data, recipe = spec.data, spec.recipe
    images = data.images.to(device, input_dtype(first, torch.float32))
    batches = Batches(images, data.labels.to(device), recipe, fill_of(data, recipe))

    def epoch(k: int) -> Iterator[tuple[Tensor, Tensor]]:
        for each in zip(*(batches.epoch(k, seed=order) for _, order in seeds), strict=True):
            images, labels = zip(*each, strict=True)
            yield torch.stack(images), torch.stack(labels)

    rows = fit(
        partial(member, parameters),
        parameters,
        epoch,
        len(batches),
        recipe,
        seed=0,  # vmap refuses to draw
        dtype=torch.float32,
        tick=partial(_tell, tick),
    )
    trained = []
    for k, (network, (_, order)) in enumerate(zip(networks, seeds, strict=True)):
        network.load_state_dict({name: values[k] for name, values in parameters.items()})
        own = [
            {name: value[k] if isinstance(value, list) else value for name, value in row.items()}
            for row in rows
        ]
        trained.append(Trained(network.eval(), pd.DataFrame(own), recipe, order))
    return trained


def _can_be_stacked(network: nn.Module) -> bool:
    dropout = any(isinstance(module, nn.modules.dropout._DropoutNd) for module in network.modules())
    return not dropout and not any(True for _ in network.buffers())


def _tell(tick: Tick, row: dict) -> None:
    k = len(row["loss"])
    tick(row | {name: sum(row[name]) / k for name in ("loss", "accuracy")}, k)
