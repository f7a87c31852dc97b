"""Networks that their authors published, read into ours."""

import re
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.models.network import Network
from intertwine.models.resnet import resnet20
from intertwine.models.tiny10 import tiny10

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# mean and standard deviation with which the authors normalised CIFAR-10
CSISZARIK2021 = (0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)


class Published(NamedTuple):
    """A published network, in evaluation mode, with the mean and deviation of its images."""

    network: Network
    mean: Float[Tensor, "c 1 1"]
    """of intensities between 0 and 1."""
    std: Float[Tensor, "c 1 1"]


def load_published(path: str | Path) -> Published:
    """Read a Tiny-10 or ResNet-20 of csiszarik2021, or the ResNet-20 of akamaster/pytorch_resnet_cifar10.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        ...     torch.save(tiny10(seed=3).state_dict(), file.name)
        ...     network, mean, std = load_published(file.name)
        >>> torch.equal(network.conv1.weight, tiny10(seed=3).conv1.weight)
        True

    The names and shapes of its tensors decide which network it is; the names become those of `tiny10` and
    `resnet20`. The file is read as data only (`weights_only`), onto the CPU.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"Expected a published checkpoint, found no file {path}: download it first.")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, EOFError) as error:
        raise ValueError(f"Expected a PyTorch checkpoint, cannot read {path}: download it anew.") from error
    if isinstance(content, Mapping):
        content = content.get("state_dict", content)
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"Expected tensors by name in {path}, found something else: save a state_dict.")
    state = {_translate(str(name)): value for name, value in content.items()}
    first = state["conv1.weight"].shape if "conv1.weight" in state else ()
    width = first[0] if first else 16
    for build, (mean, std) in (
        (lambda: tiny10(width), CSISZARIK2021),
        (lambda: resnet20(width, option="B"), CSISZARIK2021),
        (lambda: resnet20(width, option="A"), (IMAGENET_MEAN, IMAGENET_STD)),
    ):
        network = build()
        if _shapes(state) == _shapes(network.state_dict()):
            network.load_state_dict(state)
            return Published(network.eval(), *(torch.tensor(x).view(3, 1, 1) for x in (mean, std)))
    names = ", ".join(map(str, list(content)[:3]))
    raise ValueError(
        f"Expected the tensors of a Tiny-10 or a ResNet-20 in {path}, found {len(content)}, the first ones "
        f"{names}: build that network yourself and use its load_state_dict."
    )


def _translate(name: str) -> str:
    """Our name for a published tensor."""
    name = re.sub(r"layer(\d)\.(\d)", lambda found: f"block{3 * int(found[1]) + int(found[2]) - 2}", name)
    name = name.removeprefix("module.")
    name = name.replace("downsample.0", "shortcut.conv").replace("downsample.1", "shortcut.bn")
    return re.sub("^linear", "fc", name)


def _shapes(state: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    # older checkpoints lack the counters of batch norm, and load_state_dict does without
    return {name: value.shape for name, value in state.items() if not name.endswith("num_batches_tracked")}
