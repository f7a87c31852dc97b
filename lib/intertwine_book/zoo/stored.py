"""Trained networks, stored by a hash of architecture, data, recipe and seed."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from intertwine import devices, files
from intertwine.data.dataset import tensor_digest
from intertwine.training.outputs import all_outputs
from intertwine.training.recipes import VERSION
from intertwine.training.train import Trained
from intertwine_book.data.root import data_root
from intertwine_book.zoo import kept
from intertwine_book.zoo.many import Seed, SeedPair, as_pairs, train_each
from intertwine_book.zoo.spec import Spec


def get(
    spec: Spec,
    seeds: Sequence[Seed],
    *,
    root: str | Path | None = None,
    device: str | torch.device = "auto",
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Trained]:
    """The networks that `train_many` would train, trained only where the zoo does not have them yet.

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> from intertwine_book import data, zoo
        >>> recipe = replace(zoo.RECIPES["digits"], epochs=1)
        >>> spec = zoo.Spec("myrtle", data.load("digits", "train"), recipe, {"width": 2, "in_channels": 1})
        >>> root = tempfile.mkdtemp()
        >>> first, = zoo.get(spec, [0], root=root, device="cpu")
        >>> again, = zoo.get(spec, [0], root=root, device="cpu")
        >>> torch.equal(first.network.fc.weight, again.network.fc.weight)
        True

    A network is found again by what it is before training (its modules and its initial weights, whatever the
    text of the function that builds it), the data's checksum, the recipe, the precision, the seeds and the
    version of this code. A stored network whose outputs for a few images have changed, because its `forward`
    has, is trained anew. Networks of a checkout (see `kept`) are taken first. Two runs that train wait
    for each other; whoever asks for stored networks does not. An interrupted run loses no finished network,
    and goes on in the others from their last epoch; on a GPU the eight that are trained at once begin anew.

    Args:
        spec, seeds, n_jobs: as in `train_many`.
        progress: whether to show a bar while networks are trained; by default in a terminal.
        root: the zoo's folder; by default the environment variable INTERTWINE_ZOO, or else ``zoo`` in the
            data root (see `intertwine_book.data.load`).
        device: where networks are trained and where they are returned.

    Raises:
        OSError: a file of the zoo is damaged.
        ValueError: a network that comes with the checkout was altered.
    """
    chosen, wanted = devices.pick(device), as_pairs(spec, seeds)
    paths = dict(zip(wanted, _paths(spec, wanted, root, chosen), strict=True))
    if not paths:
        return []
    progress = sys.stderr.isatty() if progress is None else progress
    found = {pair: trained for pair in paths if (trained := kept.find(spec, pair))}
    if found and progress:
        tqdm.write(f"{len(found)} of {len(paths)} networks are in {kept.folder()}.", file=sys.stderr)
    # before the lock: who trains others may hold it for hours
    found |= _stored(spec, {pair: path for pair, path in paths.items() if pair not in found})
    with files.lock(next(iter(paths.values())).parent) if len(found) < len(paths) else nullcontext():
        found |= _stored(spec, {pair: path for pair, path in paths.items() if pair not in found})
        todo = [pair for pair in paths if pair not in found]
        checkpoints = {pair: paths[pair].with_suffix(".checkpoint") for pair in todo}
        loop = train_each(spec, todo, chosen, n_jobs, progress, of=len(paths), checkpoints=checkpoints)
        for pair, trained in loop:
            found[pair] = trained
            files.save_tensors(paths[pair], _content(spec, trained, chosen))
            checkpoints[pair].unlink(missing_ok=True)
    return [found[pair]._replace(network=found[pair].network.to(chosen)) for pair in wanted]


def pairs(
    spec: Spec, count: int, *, seed: int = 0, device: str | torch.device = "auto", **options
) -> list[tuple[nn.Module, nn.Module]]:
    """So many pairs of networks of different seeds, no network in two pairs; `options` are those of `get`.

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> from intertwine_book import data, zoo
        >>> recipe = replace(zoo.RECIPES["digits"], epochs=0)
        >>> spec = zoo.Spec("myrtle", data.load("digits", "train"), recipe, {"width": 2, "in_channels": 1})
        >>> (one, two), = zoo.pairs(spec, 1, root=tempfile.mkdtemp())
        >>> torch.equal(one.fc.weight, two.fc.weight)
        False
    """
    found = get(spec, range(seed, seed + 2 * count), device=device, **options)
    return [(found[k].network, found[k + 1].network) for k in range(0, 2 * count, 2)]


def _paths(spec: Spec, pairs: list[SeedPair], root: str | Path | None, device: torch.device) -> list[Path]:
    """The files of these networks: named by all that their weights depend on."""
    asked = root or os.environ.get("INTERTWINE_ZOO")
    folder = Path(asked).expanduser() if asked else data_root(None) / "zoo"
    paths = []
    for start, order in pairs:
        network = spec.build(seed=start)
        dtype = devices.precision(network, device, spec.recipe.dtype)
        key = files.digest(VERSION, asdict(spec.recipe), str(dtype), spec.data.checksum)[:16]
        modules = [f"{type(m).__module__}.{type(m).__qualname__}" for m in network.modules()]
        state = network.state_dict()
        initial = files.digest(repr(network), modules, [*state], tensor_digest(*state.values()))[:16]
        paths.append(folder / f"{spec.name}-{key}" / f"{start}-{order}-{initial}.pt")
    return paths


def _probe(network: nn.Module, spec: Spec) -> Tensor:
    """A few outputs, which change when a network's `forward` does."""
    return all_outputs(network, spec.data.images[:4].cpu())


def _content(spec: Spec, trained: Trained, device: torch.device) -> dict:
    """The network and its history, and by what it came to be for whoever finds the file."""
    network, data = trained.network.cpu(), spec.data
    return {
        "network": network.state_dict(),
        "outputs": _probe(network, spec),
        "history": trained.history.to_dict("list"),
        "architecture": spec.name,
        "arguments": {name: str(value) for name, value in spec.arguments.items()},
        "recipe": asdict(spec.recipe),
        "data": {"name": data.name, "split": data.split, "checksum": data.checksum},
        "made by": {"torch": str(torch.__version__), "device": str(device)},
    }


def _stored(spec: Spec, paths: Mapping[SeedPair, Path]) -> dict[SeedPair, Trained]:
    """Those of the networks that the zoo has."""
    found = ((pair, _read(spec, pair, path)) for pair, path in paths.items() if path.is_file())
    return {pair: trained for pair, trained in found if trained}


def _read(spec: Spec, pair: SeedPair, path: Path) -> Trained | None:
    """The network in a file; None where the function that it computes has changed."""
    content = files.load_tensors(path)
    network = spec.build(seed=pair[0])
    network.load_state_dict(content["network"])
    now, then = _probe(network.eval(), spec), content["outputs"]
    # machines differ by float32's rounding, another `forward` by more; nan is of no use either
    if not (now - then).abs().max() <= 1e-3 * then.abs().max():
        return None
    return Trained(network, pd.DataFrame(content["history"]))
