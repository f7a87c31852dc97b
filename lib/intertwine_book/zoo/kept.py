"""Trained networks that come with a checkout: 16-bit files and one manifest, in ``data/networks``."""

import hashlib
import inspect
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import nn

from intertwine import files
from intertwine.training.recipes import VERSION
from intertwine.training.train import Trained
from intertwine_book import models
from intertwine_book.zoo.spec import Spec

MOST_KEPT = 65_000_000  # bytes of all files together, since every clone carries them
Entry = dict[str, Any]


def folder() -> Path:
    """The folder of the kept networks.

    It is INTERTWINE_NETWORKS, else ``data/networks`` in the current folder or above it, else the checkout's.
    """
    if asked := os.environ.get("INTERTWINE_NETWORKS"):
        return Path(asked).expanduser()
    here, checkout = Path.cwd(), Path(__file__).parents[3]
    places = [at / "data/networks" for at in (here, *here.parents, checkout)]
    return next((place for place in places if (place / "manifest.json").is_file()), places[-1])


def manifest() -> list[Entry]:
    """What is known of every kept network; an empty list where there is no folder of them.

    Each entry holds file, sha256, network and its arguments, recipe, seed (of the initial weights, and of
    the order of the data), data, accuracy of the stored file on the test set (a fraction), precision and
    machine of the training.
    """
    path = folder() / "manifest.json"
    return json.loads(path.read_text()) if path.is_file() else []


def table() -> pd.DataFrame:
    """The kept networks as a table for people: one row for each kind.

    Example:
        >>> [*table().columns]
        ['network', 'width', 'batch norm', 'networks', 'seeds', 'epochs', 'accuracy, %']
    """
    names = ["network", "width", "batch norm", "networks", "seeds", "epochs", "accuracy, %"]
    kinds: dict[tuple, list[Entry]] = {}
    for entry in manifest():
        kind = (entry["network"], entry["arguments"]["width"], entry["arguments"]["norm"])
        kinds.setdefault((*kind, entry["recipe"]["epochs"]), []).append(entry)
    rows = []
    for (network, width, norm, epochs), entries in sorted(kinds.items(), key=str):
        seeds = sorted(entry["seed"][0] for entry in entries)
        accuracy = 100 * sum(entry["accuracy"] for entry in entries) / len(entries)
        named = ", ".join(map(str, seeds))
        rows.append(
            (network, width, "yes" if norm else "no", len(entries), named, epochs, round(accuracy, 2))
        )
    return pd.DataFrame(rows, columns=names)


def load(network: str = "myrtle", *, seed: int = 0, epochs: int | None = None, **arguments: Any) -> nn.Module:
    """One kept network, in evaluation mode.

    ``load(width=64, seed=3)`` is the Myrtle CNN of width 64 whose seed is 3; ``norm=False`` is one without
    batch norm. `arguments` are those of the function of `intertwine_book.models`. The networks are trained on
    CIFAR-10, with images normalised as `intertwine_book.data.load` does. Where networks of that seed were
    trained for several numbers of epochs, `epochs` chooses; by default it is the fewest.

    Raises:
        LookupError: no such network is kept; the sentence lists those that are.
        FileNotFoundError, ValueError: its file is missing, or is not the one of the manifest.
    """
    wanted = (network, in_full(network, arguments), seed)
    found = {
        entry["recipe"]["epochs"]: entry
        for entry in manifest()
        if (entry["network"], entry["arguments"], entry["seed"][0]) == wanted
    }
    if found and epochs in (None, *found):
        return _read(found[epochs or min(found)]).network
    known = "; ".join(
        f"{row.network} of width {row.width} with norm={row[3] == 'yes'} and epochs={row.epochs}, "
        f"seeds {row.seeds}"
        for row in table().itertuples()
    )
    if epochs is not None:
        arguments |= {"epochs": epochs}
    raise LookupError(
        f"Expected a network that {folder()} keeps ({known or 'it keeps none'}), was given {network} with "
        f"{arguments} and seed {seed}: train it with intertwine_book.zoo.get."
    )


def load_pair(number: int = 0, **arguments: Any) -> tuple[nn.Module, nn.Module]:
    """Two independently trained Myrtle CNNs of one kind, to stitch, compare or match.

    Their seeds are 2·number and 2·number + 1.
    ``f, g = load_pair(width=64)``; arguments, `epochs` among them, and errors are those of `load`. No network
    is in two pairs.
    """
    one, two = (load("myrtle", seed=2 * number + k, **arguments) for k in (0, 1))
    return one, two


def find(spec: Spec, seed: tuple[int, int]) -> Trained | None:
    """The kept network that a training by `spec` with these seeds gave; None if none is kept."""
    if not isinstance(spec.architecture, str):
        return None
    wanted = _facts(spec, seed)
    for entry in manifest():
        if all(entry[fact] == value for fact, value in wanted.items()):
            return _read(entry)
    return None


def keep(spec: Spec, seed: tuple[int, int], trained: Trained, accuracy: float, *, precision: str) -> Path:
    """Write a network and its entry in the manifest, in place of an older one; `accuracy` is of the file."""
    facts = _facts(spec, seed)
    known = [entry for entry in manifest() if any(entry[fact] != value for fact, value in facts.items())]
    width = facts["arguments"].get("width", "")
    plain = "" if facts["arguments"].get("norm", True) else "-no-norm"
    name = f"{spec.name}-{width}{plain}-{spec.recipe.epochs}-epochs-{seed[0]}.safetensors"
    history = json.dumps(trained.history.round(5).to_dict("list"))
    content = save(_halved(trained.network), metadata={"history": history})
    path = folder() / name
    size = len(content) + sum((path.parent / entry["file"]).stat().st_size for entry in known)
    if size > MOST_KEPT:
        raise ValueError(
            f"Expected at most {MOST_KEPT / 1e6:g} MB of networks in {path.parent}, which with {name} would "
            f"hold {size / 1e6:.1f} MB: keep fewer."
        )
    entry = {"file": name, "sha256": hashlib.sha256(content).hexdigest(), **facts, "accuracy": accuracy}
    threads = f"{platform.machine()}, {torch.get_num_threads()} threads"
    machine = torch.cuda.get_device_name() if torch.cuda.is_initialized() else threads  # if it trained there
    entry |= {
        "precision": precision,
        "torch": str(torch.__version__),
        "machine": machine,
    }
    with files.write_whole(path) as part:
        part.write_bytes(content)
    everything = sorted([*known, entry], key=lambda each: each["file"])
    with files.write_whole(path.with_name("manifest.json")) as part:
        part.write_text(json.dumps(everything, indent=1) + "\n")
    return path


def rounded(network: nn.Module) -> nn.Module:
    """The network with its weights rounded to 16 bits, as a file has them; changed in place, and returned."""
    network.load_state_dict(_halved(network))
    return network.eval()


def in_full(network: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a function of `intertwine_book.models` with its defaults, but for the seed."""
    bound = inspect.signature(getattr(models, network)).bind(**arguments)
    bound.apply_defaults()
    return {name: value for name, value in bound.arguments.items() if name != "seed"}


def _facts(spec: Spec, seed: tuple[int, int]) -> Entry:
    """All that decides on a network, as JSON gives it back."""
    data = {"name": spec.data.name, "split": spec.data.split, "checksum": spec.data.checksum}
    facts = {
        "network": spec.name,
        "arguments": in_full(spec.name, dict(spec.arguments)),
        "recipe": asdict(spec.recipe),
        "seed": list(seed),
        "data": data,
        "version": VERSION,
    }
    return json.loads(json.dumps(facts, default=repr))


def _halved(network: nn.Module) -> dict[str, torch.Tensor]:
    """The state in float16, whose 11 bits change an accuracy less than one test image in a thousand does."""
    state = network.state_dict()
    return {
        name: (value.half() if value.is_floating_point() else value).contiguous().cpu()
        for name, value in state.items()
    }


def _read(entry: Entry) -> Trained:
    """The network of an entry; nothing of a file that is not the one of the manifest."""
    path = folder() / entry["file"]
    mend = "restore it with `git checkout`, or delete its entry in manifest.json to have the network trained"
    if not path.is_file():
        raise FileNotFoundError(f"Expected the network {path} of the manifest, found no such file: {mend}.")
    if hashlib.sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
        raise ValueError(f"Expected in {path} the network of the manifest, found another content: {mend}.")
    network = getattr(models, entry["network"])(**entry["arguments"], seed=0)
    with safe_open(path, "pt") as file:
        network.load_state_dict({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        history = json.loads(file.metadata()["history"])
    return Trained(network.eval(), pd.DataFrame(history))
