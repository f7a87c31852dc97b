"""The full-size networks of godfrey2022 §6, from torchvision, and ResNets without their output ReLUs."""

import copy
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def imagenet(name: str, *, pretrained: bool = True, classes: int | None = None) -> nn.Module:
    """One of torchvision's classifiers, with the weights that torchvision downloads.

    Example:
        >>> network = imagenet("resnet18", pretrained=False, classes=7)
        >>> network.fc
        Linear(in_features=512, out_features=7, bias=True)

    The paper's are ``resnet50``, dissected at layer4, and, as its ConvNeXt analogue, ``convnext_tiny``,
    dissected at features.7. They take images normalised with `IMAGENET_MEAN` and `IMAGENET_STD`.

    Args:
        name: as `torchvision.models.get_model` takes it.
        pretrained: whether to download torchvision's default weights; new ones are drawn otherwise.
        classes: outputs of a new, untrained last layer, for finetuning; by default the old one stays.

    Raises:
        ValueError: torchvision does not know the name, or the network does not end in a linear layer.
        OSError: the download failed.
    """
    try:
        from torchvision.models import get_model  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Networks for ImageNet come with torchvision: pip install 'intertwine[vision]'."
        ) from None
    network = get_model(name, weights="DEFAULT" if pretrained else None)
    if classes is not None:
        last, head = [*network.named_modules()][-1]
        if not isinstance(head, nn.Linear):
            raise ValueError(f"Expected a network whose last module is linear, {name} ends in {head}.")
        network.set_submodule(last, nn.Linear(head.in_features, classes))
    return network


class OutputLinear(nn.Module):
    """A residual block of torchvision that returns the sum before its last ReLU."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c2 h2 w2"]:
        block, y = self.block, x
        depth = 3 if hasattr(block, "conv3") else 2
        for k in range(1, depth + 1):
            y = getattr(block, f"bn{k}")(getattr(block, f"conv{k}")(y))
            y = block.relu(y) if k < depth else y
        return y + (x if block.downsample is None else block.downsample(x))


def without_output_relu(network: nn.Module) -> nn.Module:
    """A copy of a torchvision ResNet without the ReLU on the residual outputs, to be finetuned.

    Example:
        >>> network = without_output_relu(imagenet("resnet18", pretrained=False))
        >>> type(network.layer4[1]).__name__
        'OutputLinear'

    This is the modified ResNet-50 of godfrey2022 §6. The weights were trained with the ReLUs:
    train it further, with `intertwine.training.train`.
    """
    changed = copy.deepcopy(network)
    blocks = [name for name, m in changed.named_modules() if hasattr(m, "downsample") and hasattr(m, "bn2")]
    if not blocks:
        raise ValueError(
            f"Expected a ResNet of torchvision, was given a {type(network).__name__} without its blocks: use "
            f"`imagenet('resnet50')`."
        )
    for name in blocks:
        changed.set_submodule(name, OutputLinear(changed.get_submodule(name)))
    return changed
