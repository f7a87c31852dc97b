"""Convolutions in bfloat16 are as near to float64 as rounding lets them, and no kernel is used that harms."""

import copy

import pytest
import torch
from helpers import generator, normal64
from torch import Tensor, nn
from torch.nn import functional as F

from intertwine import devices
from intertwine.data import Dataset
from intertwine.similarity import null
from intertwine.training import Recipe, train
from intertwine_book import models

NETWORKS = {
    "myrtle 64": lambda: models.myrtle(64),
    "resnet20 B": lambda: models.resnet20(option="B"),
    "tiny10": lambda: models.tiny10(),
}
SIDES = {"myrtle 64": (32, 24, 16, 8)}  # training may begin on smaller images
ROUNDING = torch.finfo(torch.bfloat16).eps


def error_of(conv: nn.Conv2d, images: Tensor, dtype: torch.dtype = torch.bfloat16) -> float:
    """How far a convolution under autocast is from float64, forward and backward.

    It is the largest error of the outputs, and of the gradients of |outputs|²/2 for images and weights. Each
    is divided by the largest entry of its tensor. Float64 is given operands that are rounded to `dtype`, too.
    So a right kernel rounds once, by at most eps / 2, where eps = 2⁻⁷ for the 8 bits of bfloat16. It stays
    below eps if it rounds a partial sum as well. One that leaves out a term is wrong by a multiple of eps.
    """
    images = images.detach().requires_grad_()
    with devices.autocast(images.device, dtype):
        outputs = conv(images)
    direction = outputs.detach()
    ours = (outputs, *torch.autograd.grad(outputs, (images, *conv.parameters()), direction))
    conv = copy.deepcopy(conv).to(dtype).double()
    images = images.detach().to(dtype).double().requires_grad_()
    outputs = conv(images)
    exact = (outputs, *torch.autograd.grad(outputs, (images, *conv.parameters()), direction.double()))
    errors = [(a - b).abs().max() / b.abs().max() for a, b in zip(ours, exact, strict=True)]
    return torch.stack(errors).max().item()


def convolutions(network: nn.Module, sides: tuple[int, ...]) -> dict[str, tuple[nn.Conv2d, torch.Size]]:
    """One convolution for each shape that occurs in a network, with the shape of the image that it gets."""
    found = {}

    def note(conv: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        found.setdefault(f"{conv} of {inputs[0].shape}", (conv, inputs[0].shape[1:]))

    convs = [module for module in network.modules() if isinstance(module, nn.Conv2d)]
    handles = [conv.register_forward_pre_hook(note) for conv in convs]
    for side in sides:
        network.eval()(torch.zeros(1, 3, side, side))
    for handle in handles:
        handle.remove()
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_convolutions_of_our_networks_in_bfloat16_are_those_of_float64_rounded(name):
    """torch 2.13 to 2.15 have open faults in them on CPUs (pytorch #183815, #169688, #163347)."""
    generator = torch.Generator().manual_seed(0)
    network = NETWORKS[name]().to(memory_format=torch.channels_last)
    if devices.precision(network, torch.device("cpu")) != torch.bfloat16:
        pytest.skip("this CPU trains in float32, and takes minutes for these convolutions in bfloat16")
    for described, (conv, shape) in convolutions(network, SIDES.get(name, (32,))).items():
        images = torch.randn((8, *shape), generator=generator).to(memory_format=torch.channels_last)
        error = error_of(conv, images)
        assert error <= ROUNDING, f"{described} is off by {error:.1%}: set INTERTWINE_DTYPE=float32 to train"


def test_a_convolution_that_rounds_less_is_nearer_to_float64():
    """So the reference is not the kernel that it judges."""
    images, conv = (
        torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0)),
        models.tiny10().conv1,
    )
    errors = [error_of(conv, images, dtype) for dtype in (torch.float32, torch.bfloat16)]
    assert 0 < errors[0] < 1e-5 < 2**-10 < errors[1]


RIGHT = F.conv2d


def forgetful(images: Tensor, weight: Tensor, *others) -> Tensor:
    """One of the terms is left out, as by the kernel of pytorch #163347."""
    weight = weight.clone()
    weight[:, 0, 0, 0] = 0
    return RIGHT(images, weight, *others)


def with_a_wrong_gradient(images: Tensor, *others) -> Tensor:
    return RIGHT(images.detach() + 1.02 * (images - images.detach()), *others)


def infinite(*arguments) -> Tensor:
    return RIGHT(*arguments) * float("nan")


@pytest.mark.parametrize("kernel", [forgetful, with_a_wrong_gradient, infinite])
def test_a_wrong_kernel_is_farther_off_than_rounding(monkeypatch, kernel):
    def conv2d(*arguments):
        return (kernel if torch.is_autocast_enabled("cpu") else RIGHT)(*arguments)

    monkeypatch.setattr(F, "conv2d", conv2d)
    images = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    assert not error_of(models.tiny10().conv1, images) <= ROUNDING  # NaN is none, either


@pytest.mark.parametrize(
    ("channels", "kernel", "stride"), [(4, 1, 2), (4, 1, (1, 2)), (8, 1, 2), (4, 3, 2), (4, 1, 1)]
)
def test_a_gradient_that_writes_past_its_memory_is_computed_without_onednn(channels, kernel, stride):
    network = nn.Sequential(nn.Conv2d(channels, 2, kernel, stride=stride))
    with devices.safe_kernels(network):
        harmful = not torch.backends.mkldnn.enabled
    assert harmful == ((channels, kernel) == (4, 1) and stride != 1)
    assert torch.backends.mkldnn.enabled


def test_no_result_depends_on_the_default_type_of_torch():
    images, labels, network = normal64(40, 1, 4, 4).float(), torch.arange(40) % 2, nn.Linear(16, 2)
    recipe, found = Recipe(epochs=2, batch_size=7, lr=0.1, flip=True, shift=1, fill="black"), []
    try:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            torch.set_default_dtype(dtype)
            data = Dataset.of(images, labels, mean=[0.3])
            history = train(nn.Sequential(nn.Flatten(), network), data, recipe, seed=0, device="cpu").history
            chance = null("cka", images, images, "gaussian", 2, spatial="samples", generator=generator(0))
            rows = history[["lr", "loss", "accuracy"]].values.tolist()
            found.append((data.checksum, rows, chance.values.tolist()))
    finally:
        torch.set_default_dtype(torch.float32)
    assert found[0] == found[1] == found[2]


def test_a_narrow_residual_network_trains_on_every_cpu():
    images = Dataset.of(normal64(64, 1, 8, 8).float(), torch.arange(64) % 10)
    network, recipe = (
        models.resnet20(4, in_channels=1, option="B", seed=0),
        Recipe(epochs=2, batch_size=16, lr=0.1),
    )
    assert train(network, images, recipe, seed=0, device="cpu").history["loss"].notna().all()
