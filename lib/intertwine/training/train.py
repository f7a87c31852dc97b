"""Training one network."""

import copy
import re
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from intertwine import devices, files
from intertwine.chains import is_chain, layers_of, pooled_first, subchain
from intertwine.checks import whole
from intertwine.data import Dataset
from intertwine.data.dataset import check_dataset, tensor_digest
from intertwine.training.batches import Batches, check_last_batch, fill_of
from intertwine.training.epoch import Row, build_optimizer, epoch
from intertwine.training.evaluate import check_data, evaluate
from intertwine.training.outputs import front_values
from intertwine.training.recipes import VERSION, Recipe


class Trained(NamedTuple):
    """A trained network, in evaluation mode, and its history.

    Example:
        >>> import pandas as pd
        >>> Trained(nn.Linear(2, 2), pd.DataFrame({"loss": [2.3, 0.1]})).history.shape
        (2, 1)
    """

    network: nn.Module
    history: pd.DataFrame
    """One row per epoch: the columns of `epoch`, and validation_accuracy where there is a validation set."""


def train(
    network: nn.Module,
    data: Dataset,
    recipe: Recipe,
    *,
    freeze: str | None = None,
    validation: Dataset | None = None,
    checkpoint: str | Path | None = None,
    seed: int,
    device: str | torch.device = "auto",
    progress: bool = False,
) -> Trained:
    """Train a copy of `network` on `data` by `recipe`, with the cross-entropy as loss.

    Example:
        >>> from intertwine.data import Dataset
        >>> x = torch.randn(200, 2, generator=torch.Generator().manual_seed(0))
        >>> data = Dataset.of(x, (x[:, 0] > 0).long())
        >>> trained = train(
        ...     nn.Linear(2, 2), data, Recipe(epochs=20, batch_size=20, lr=0.1), seed=0
        ... )
        >>> evaluate(trained.network, data.images, data.labels) > 0.95
        True

    On a CPU the same network, data, recipe, seed and number of threads give the same weights to the last bit,
    also after an interruption. Parameters that do not require gradients stay as they are.

    With `freeze` this is finetuning. The layers of a chain up to and including that one keep their parameters
    and stay in evaluation mode, also where one stands again behind it. If the recipe does not augment, their
    outputs are computed once, so that an epoch costs only the other layers.

    Args:
        network: maps images to logits; it is not changed.
        data: the images and labels that it learns.
        recipe: epochs, batch size, learning rate, and all else that decides how it learns.
        freeze: a layer of a network that is a `torch.nn.Sequential`, by name; all train when not given.
        validation: images whose accuracy the history records after every epoch.
        checkpoint: a file that is written after every epoch, and from which an interrupted training goes on.
            It is taken where the network, as it prints itself, the numbers and words that its modules hold,
            its weights, their names, those that learn, the recipe, the seed, `freeze` and both data sets are
            the same. The text of a module's forward does not count.
        seed: of the order of the data, of their augmentation and of dropout; the initial weights are the
            network's own.
        device: as `intertwine.devices.pick` takes it; the trained network is there.
        progress: whether a bar counts the epochs.

    Returns:
        The trained copy as `network`, in evaluation mode, and its `history`, one row an epoch.

    See Also:
        `Recipe` says how it is trained, `evaluate` how well.

    Raises:
        ValueError: images, labels, device, layer or checkpoint do not fit; raised before any work.
        FloatingPointError: the loss is no longer finite.
    """
    if not isinstance(recipe, Recipe):
        raise TypeError(
            f"Expected a Recipe, was given {recipe!r}: write Recipe(epochs=3, batch_size=64, lr=0.01), say."
        )
    seed = whole("seed", seed)
    for dataset in (data,) if validation is None else (data, validation):
        check_dataset(dataset)
        check_data(network, dataset.images, dataset.labels, least=2)
    chosen = devices.pick(device)
    before, network = network, devices.channels_last(copy.deepcopy(network).to(chosen))
    front, back = _parts(network, freeze)  # of the copy: both share its parameters
    devices.keep_freed_memory(chosen)
    dtype = devices.precision(network, chosen, recipe.dtype)
    back.train()
    front.requires_grad_(False).eval()  # last, for a module that stands in both
    # images are turned into the type of the arithmetic once, not in every epoch
    images, model = data.images.to(chosen, devices.input_dtype(network, dtype)), pooled_first(network)
    if freeze and not (recipe.flip or recipe.shift or recipe.sides):
        values = front_values(front, images, dtype=dtype)
        # None where they are too many to keep; a chain has no tuple of values
        if isinstance(values, Tensor):
            images, model = values, back
    with devices.autocast(chosen, dtype):
        check_last_batch(lambda: copy.deepcopy(model)(images[:1].clone()), len(images), recipe)
    batches = Batches(images, data.labels.to(chosen), recipe, fill_of(data, recipe))
    optimizer = build_optimizer(recipe, network.named_parameters())
    rows: list[Row] = []
    if checkpoint:
        # all that decides on weights and history: a checkpoint of anything else raises
        sets = [each and each.checksum for each in (data, validation)]
        stamp = files.digest(VERSION, asdict(recipe), str(dtype), seed, freeze, *sets, *_content(before))
        rows = _restore(Path(checkpoint), stamp, network, optimizer)
    numbers = range(len(rows), recipe.epochs)
    bar = tqdm(numbers, unit="epoch", total=recipe.epochs, initial=len(rows), disable=not progress)
    with bar:
        for number in bar:
            row = epoch(model, batches, optimizer, recipe, number, seed=seed, dtype=dtype)
            if validation:
                row["validation_accuracy"] = evaluate(network, validation.images, validation.labels)
            rows.append(row)
            if checkpoint:
                # with the optimiser's moments, so that an interrupted training ends in the same weights
                content = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
                content["buffers"] = _unsaved(network)
                files.save_tensors(checkpoint, content | {"stamp": stamp, "history": rows})
            bar.set_postfix(loss=f"{row['loss']:.3f}", accuracy=f"{row['accuracy']:.1%}", refresh=False)
    # freezing has switched off the gradients of the front
    for parameter, original in zip(network.parameters(), before.parameters(), strict=True):
        parameter.requires_grad_(original.requires_grad)
    network.to(memory_format=torch.contiguous_format)  # channels last was for training alone
    return Trained(network.eval(), pd.DataFrame(rows))


def _parts(network: nn.Module, freeze: str | None) -> tuple[nn.Module, nn.Module]:
    """The layers of a chain up to the frozen one, and the rest."""
    if freeze is None:
        return nn.Sequential(), network
    # only a chain has a part before a layer
    names = [*layers_of(network)] if is_chain(network) else []
    if freeze not in names or not is_chain(network):
        chain = "a layer of a torch.nn.Sequential without hooks"
        known = f"one of its layers {', '.join(names)}" if names else chain
        raise ValueError(
            f"Expected to freeze {known}, was given {freeze!r}: to freeze other parameters, set their "
            f"requires_grad to False."
        )
    end = names.index(freeze) + 1
    front, back = subchain(network, 0, end), subchain(network, end)
    if not any(True for _ in back.parameters()):
        raise ValueError(f"Expected parameters after the layer {freeze!r}, there are none: freeze less.")
    return front, back


def _content(network: nn.Module) -> tuple[object, ...]:
    """What tells a network from others: printout, settings, weights and buffers by name, and what learns."""
    state = network.state_dict() | _unsaved(network)
    # a module may print a function of its own, with an address that is another in each process
    text = re.sub(r" at 0x\w+", "", str(network))
    learn = [name for name, parameter in network.named_parameters() if parameter.requires_grad]
    # what torch does not print: the activation of an RNN, heads of attention, options of pooling
    settings = {name: _settings(module) for name, module in network.named_modules()}
    return text, settings, [*state], tensor_digest(*state.values()), learn


def _settings(module: nn.Module) -> dict[str, str]:
    """The numbers, words and functions that a module holds, but for its mode."""
    held = {name: x for name, x in vars(module).items() if name != "training" and name[0] != "_"}
    plain = {name: getattr(x, "__name__", x) for name, x in held.items()}
    return {
        k: repr(x) for k, x in plain.items() if x is None or isinstance(x, bool | int | float | str | tuple)
    }


def _unsaved(network: nn.Module) -> dict[str, Tensor]:
    """The buffers that a state leaves out, though a training may change them."""
    state = network.state_dict()
    return {name: x for name, x in network.named_buffers() if name not in state}


def _restore(path: Path, stamp: str, network: nn.Module, optimizer: torch.optim.Optimizer) -> list[Row]:
    """Load a checkpoint of this training, if there is one; the history so far."""
    if not path.is_file():
        return []
    saved = files.load_tensors(path)
    if saved.get("stamp") != stamp:
        raise ValueError(
            f"Expected in {path} a checkpoint of this training, found one of another network, recipe, seed "
            f"or data set: delete it, or name another file."
        )
    network.load_state_dict(saved["network"])
    optimizer.load_state_dict(saved["optimizer"])
    for name, x in _unsaved(network).items():
        x.copy_(saved["buffers"][name])
    return saved["history"]
