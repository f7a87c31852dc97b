"""The symmetries of torchvision's networks in full size: seconds to find them, to act, and what is left.

    python benchmarks/bench_weightspace.py [network ...]

Random weights, batch-norm statistics and affine parts, in float64; five random elements each, on one image
of 224×224. Fails if an output changes by more than 1e-9 of the largest, if finding the symmetries of resnet50
takes 5 s, or acting on it 2 s. vgg11_bn needs about 8 GB.

Measured once, on one core of a machine that was busy: resnet50 0.5 s and 0.35 s; at most 3 s to find any of
them; the largest change was 8e-14, of vit_b_16.
"""

import sys
import time

import torch
from torch import nn

from intertwine.weightspace import find_symmetries

NETWORKS = ["resnet18", "resnet50", "wide_resnet50_2", "vgg11_bn", "mobilenet_v2", "mobilenet_v3_small"]
NETWORKS += ["densenet121", "squeezenet1_1", "googlenet", "efficientnet_b0", "regnet_y_400mf"]
NETWORKS += ["convnext_tiny", "vit_b_16", "swin_t"]
ELEMENTS = 5


def network(name: str, generator: torch.Generator) -> nn.Module:
    from torchvision import models

    options = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
    model = getattr(models, name)(**options).double().eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d | nn.LayerNorm):
                module.weight.copy_(0.5 + torch.rand(module.weight.shape, generator=generator))
                module.bias.copy_(torch.rand(module.bias.shape, generator=generator) - 0.5)
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.copy_(torch.rand(module.running_mean.shape, generator=generator) - 0.5)
                module.running_var.copy_(0.5 + torch.rand(module.running_var.shape, generator=generator))
        for parameter in model.parameters():
            if not parameter.any():  # vit_b_16 starts with a head of zeros
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def main() -> None:
    torch.manual_seed(0)
    failures = []
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {ELEMENTS} elements")
    print(f"{'network':20}{'spaces':>7}{'dimension':>11}{'find s':>8}{'act s':>8}{'change':>10}")
    for name in sys.argv[1:] or NETWORKS:
        generator = torch.Generator().manual_seed(0)
        model = network(name, generator)
        x = torch.randn(1, 3, 224, 224, generator=generator, dtype=torch.float64)
        start = time.perf_counter()
        space = find_symmetries(model, x)
        find = time.perf_counter() - start
        times, worst = [], 0.0
        with torch.no_grad():
            expected = model(x)
            for _ in range(ELEMENTS):
                element = space.sample(generator)
                start = time.perf_counter()
                moved = space.act(model, element)
                times.append(time.perf_counter() - start)
                worst = max(worst, ((moved(x) - expected).abs().max() / expected.abs().max()).item())
        act = sorted(times)[ELEMENTS // 2]
        row = f"{name:20}{len(space.spaces):7}{space.dimension:11,}{find:8.2f}{act:8.2f}{worst:10.1e}"
        print(row, flush=True)
        if not worst <= 1e-9:
            failures.append(f"{name} changed by {worst:.1e}")
        if name == "resnet50" and (find >= 5 or act >= 2):
            failures.append(f"resnet50 took {find:.1f} s to find and {act:.1f} s to act")
    if failures:
        raise SystemExit("; ".join(failures))


if __name__ == "__main__":
    main()
