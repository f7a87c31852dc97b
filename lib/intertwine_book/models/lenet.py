"""LeNet as lengyel2020 ran it: 43,661 parameters, where the text says 60,000."""

import torch
from torch import nn

from intertwine_book.models.building import check_sizes, conv, initialise, linear
from intertwine_book.models.network import HiddenLayer, Network


def lenet(
    width: int = 2,
    *,
    output_relu: bool = True,
    size: int = 28,
    in_channels: int = 1,
    classes: int = 1,
    seed: int | torch.Generator = 0,
) -> Network:
    """Two 5×5 convolutions of `width` · 3, 8 channels, then linear layers of `width` · 60, 42 features.

    Example:
        >>> lenet()(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 1])

    The modules are conv1, relu1, pool1, conv2, relu2, pool2, flatten, fc1, relu3, fc2, relu4, fc3, relu5. The
    authors' network ends in relu5, and is the constant 0 where that ReLU is off for every input: leave it out
    for a network that depends on its weights. Those follow torch's default, as the authors' did.

    Args:
        width: a common factor; 2 gives the paper's 6, 16, 120 and 84.
        output_relu: whether relu5 follows the last linear layer.
        size: height and width of the images, at least 16.
        classes: outputs; 1 in the paper.
    """
    check_sizes(width=width, in_channels=in_channels, size=size, classes=classes)
    if size < 16:
        raise ValueError(
            f"Expected images of at least 16×16 pixels, was given size={size}: pad them, or use a Myrtle CNN."
        )
    channels1, channels2, features1, features2 = 3 * width, 8 * width, 60 * width, 42 * width
    side = ((size - 4) // 2 - 4) // 2  # a 5×5 kernel takes 4 pixels, a pooling halves; twice
    layers: dict[str, nn.Module] = {
        "conv1": conv(in_channels, channels1, 5, bias=True),
        "relu1": nn.ReLU(),
        "pool1": nn.MaxPool2d(2),
        "conv2": conv(channels1, channels2, 5, bias=True),
        "relu2": nn.ReLU(),
        "pool2": nn.MaxPool2d(2),
        "flatten": nn.Flatten(),
        "fc1": linear(channels2 * side**2, features1),
        "relu3": nn.ReLU(),
        "fc2": linear(features1, features2),
        "relu4": nn.ReLU(),
        "fc3": linear(features2, classes),
    }
    if output_relu:
        layers["relu5"] = nn.ReLU()
    widths = [channels1, channels2, features1, features2]
    hidden = [HiddenLayer(f"relu{k}", str(k), channels) for k, channels in enumerate(widths, 1)]
    return initialise(Network(layers, hidden, (in_channels, size, size)), seed)
