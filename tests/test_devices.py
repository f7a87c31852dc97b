"""Convolutions in bfloat16: as near to float64 as rounding lets them, and a sentence where they are not."""

import re
import time
from itertools import cycle

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from intertwine import devices
from intertwine_book import models

NETWORKS = {
    "myrtle 64": lambda: models.myrtle(64),
    "resnet20 B": lambda: models.resnet20(option="B"),
    "tiny10": lambda: models.tiny10(),
}


SIDES = {"myrtle 64": (32, 24, 16, 8)}  # training may begin on smaller images


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
        assert devices.convolution_error(conv, images) <= torch.finfo(torch.bfloat16).eps, described


def test_a_convolution_that_rounds_less_is_nearer_to_float64():
    """So the reference is not the kernel that it judges."""
    images = torch.randn(8, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    errors = [
        devices.convolution_error(models.tiny10().conv1, images, dtype)
        for dtype in (torch.float32, torch.bfloat16)
    ]
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


def slow(*arguments) -> Tensor:
    time.sleep(0.05)
    return RIGHT(*arguments)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (forgetful, r"is off by \d+\.\d%"),
        (with_a_wrong_gradient, r"is off by [12]\.\d%"),
        (infinite, "is off by nan%"),
        (slow, r"takes \d+ times as long as in float32"),
    ],
)
def test_a_wrong_or_slow_kernel_is_found_where_it_would_be_used(monkeypatch, kernel, words):
    def conv2d(*arguments):
        return (kernel if torch.is_autocast_enabled("cpu") else RIGHT)(*arguments)

    monkeypatch.setattr(F, "conv2d", conv2d)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    sentence = devices.bfloat16_fault()
    assert re.search(words, sentence) and sentence.count("\n") == 0, sentence
    assert torch.__version__ in sentence and "set INTERTWINE_DTYPE=float32" in sentence
    monkeypatch.setenv("INTERTWINE_DTYPE", "float32")
    assert devices.bfloat16_fault() == ""
    monkeypatch.delenv("INTERTWINE_DTYPE")
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict, raising=False)
    assert devices.bfloat16_fault() == ""


def test_reference_kernels_are_found_to_be_slow(monkeypatch):
    """Those that torch takes where oneDNN has none of its own (pytorch #183815)."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)

    def conv2d(*arguments):
        monkeypatch.setattr(torch.backends.mkldnn, "enabled", not torch.is_autocast_enabled("cpu"))
        return RIGHT(*arguments)

    monkeypatch.setattr(F, "conv2d", conv2d)
    assert "times as long as in float32" in devices.bfloat16_fault()


def test_a_busy_machine_is_not_a_slow_kernel(monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": True}, raising=False)
    busy = cycle([True, True, True, False])

    def seconds(conv, images, dtype):
        return 0.01 if dtype == torch.float32 or not next(busy) else 0.5

    monkeypatch.setattr(devices, "_seconds", seconds)
    assert devices.bfloat16_fault() == ""
