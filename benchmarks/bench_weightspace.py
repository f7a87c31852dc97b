"""The symmetries of torchvision's networks in full size: seconds to find them, to act and to compare.

    OMP_NUM_THREADS=1 python benchmarks/bench_weightspace.py [network ...]

Random weights, batch-norm statistics and affine parts. Times are medians of five runs in float32, in seconds
of the processor, which on one thread and a machine without other programs are seconds of the clock. Match is
given a moved copy; two networks trained apart take up to twenty rounds more. The change of the outputs is the
largest of five elements in float64, on one image of 224×224; more than 1e-9 fails, and so do the limits for
resnet50. vgg11_bn needs about 8 GB.

Measured for resnet50 (37 spaces, dimension 38,016) on one quiet core of an Intel Xeon with AMX,
torch 2.15: find 0.31 s (three processes of seven runs); of five runs each act 0.11, canonicalise 0.33,
match 2.00; outputs changed by 1e-15.
Finding misses its limit of 0.3 s: it includes the check by one random element, that is moving 25 million
weights and two forward passes at 64×64, and a forward pass at 224×224 of about 0.1 s. densenet121, three
runs of an earlier version: 1.80, 0.41, 1.35 and 2.27 s.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from intertwine.weightspace import canonicalise, find_symmetries, match

NETWORKS = ["resnet18", "resnet50", "wide_resnet50_2", "vgg11_bn", "mobilenet_v2", "mobilenet_v3_small"]
NETWORKS += ["densenet121", "squeezenet1_1", "googlenet", "efficientnet_b0", "regnet_y_400mf"]
NETWORKS += ["convnext_tiny", "vit_b_16", "swin_t"]
RUNS = 5
LIMITS = {"find": 0.3, "act": 0.3, "canonicalise": 0.6, "match": 3.0}  # seconds for resnet50


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


def seconds(function: Callable[[], object]) -> float:
    """The median of five runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return sorted(times)[RUNS // 2]


def main() -> None:
    torch.manual_seed(0)
    failures = []
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, medians of {RUNS} runs")
    print(
        f"{'network':20}{'spaces':>7}{'dimension':>11}"
        + "".join(f"{k + ' s':>15}" for k in LIMITS)
        + "   change"
    )
    for name in sys.argv[1:] or NETWORKS:
        generator = torch.Generator().manual_seed(0)
        model = network(name, generator)
        x = torch.randn(1, 3, 224, 224, generator=generator, dtype=torch.float64)
        space, worst = find_symmetries(model, x), 0.0
        with torch.no_grad():
            expected = model(x)
            for _ in range(RUNS):
                moved = space.act(model, space.sample(generator))
                worst = max(worst, ((moved(x) - expected).abs().max() / expected.abs().max()).item())
        model, element, x = model.float(), space.sample(generator), x.float()
        moved = space.act(model, element)
        times = {
            "find": seconds(lambda: find_symmetries(model, x)),  # noqa: B023
            "act": seconds(lambda: space.act(model, element)),  # noqa: B023
            "canonicalise": seconds(lambda: canonicalise(space, model)),  # noqa: B023
            "match": seconds(lambda: match(space, model, moved)),  # noqa: B023
        }
        row = f"{name:20}{len(space.spaces):7}{space.dimension:11,}"
        print(row + "".join(f"{t:15.2f}" for t in times.values()) + f"{worst:9.1e}", flush=True)
        if not worst <= 1e-9:
            failures.append(f"{name} changed by {worst:.1e}")
        if name == "resnet50":
            failures += [f"{k} took {t:.2f} s, not {LIMITS[k]}" for k, t in times.items() if t > LIMITS[k]]
    if failures:
        raise SystemExit("; ".join(failures))


if __name__ == "__main__":
    main()
