"""The loss on a grid of parameters: ours against a loop that copies the network for every point.

    python benchmarks/bench_genni.py

The fully connected network of lengyel2020 on 50³ points with 500 inputs, and its LeNet on fewer points, which
cost the same each. The loop is timed by turns with ours, on some of the same points. Fails if a loss differs
from the loop's by more than 1e-6 relative (FCN, float64; LeNet, float32: 1e-4), or if ours is less than 100
times (FCN) or 1.5 times (LeNet) as fast. The floor is the multiplications behind the first layer, at the rate
of a large matrix product in the same run.
"""

import copy
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from intertwine import genni
from intertwine.genni import Grid, Plane, Problem
from intertwine_book import models

ROUNDS = 5


def seconds(function: Callable[[], object]) -> float:
    """Of the processor, on one thread: what else runs here costs less than by the clock."""
    start = time.process_time()
    function()
    return time.process_time() - start


def loop(network: nn.Module, points: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """A copy and a forward pass for every point."""
    losses = []
    with torch.no_grad():
        for theta in points:
            twin = copy.deepcopy(network)
            nn.utils.vector_to_parameters(theta, twin.parameters())
            losses.append((twin(x) - y).square().mean())
    return torch.stack(losses)


def gemm_rate() -> float:
    """Multiply-adds per second of a matrix product in float32."""
    a = torch.randn(1500, 1500)
    return 1500**3 / min(seconds(lambda: a @ a) for _ in range(5))


def multiplications(network: nn.Module, x: Tensor) -> int:
    """Multiply-adds of one forward pass, without the first layer."""
    counts = []

    def count(layer: nn.Module, _: object, output: Tensor) -> None:
        counts.append(layer.weight[0].numel() * output.numel())

    layers = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    network(x)
    for hook in hooks:
        hook.remove()
    return sum(counts[1:])


def compare(
    name: str, network: nn.Module, flat: Plane, target: Callable, x: Tensor, n: int, sample: int
) -> tuple[float, float, float]:
    """Milliseconds per point of ours and of the loop, and the largest relative difference."""
    run: Callable[[], Grid] = lambda: genni.grid_loss(Problem(network, target, x), flat, (-2, 2), n)  # noqa: E731
    grid = run()
    some = torch.randperm(n**3, generator=torch.Generator().manual_seed(0))[:sample]
    points = flat.at(grid.coordinates()[some]).to(x)
    y = target(x).detach()
    error = (grid.loss.flatten()[some] / loop(network, points, x, y) - 1).abs().max().item()
    ours, theirs = [], []
    for _ in range(ROUNDS):  # by turns, so that what else runs here slows both
        theirs.append(seconds(lambda: loop(network, points, x, y)) / sample)
        ours.append(seconds(run) / n**3)
    mine, other = (1000 * statistics.median(values) for values in (ours, theirs))
    print(
        f"{name:8}{n}³ × {len(x)} inputs: {mine * n**3 / 1000:8.2f} s, {1000 / mine:9,.0f} points/s; "
        f"loop {1000 / other:7,.0f} points/s; {other / mine:6.1f}×; difference {error:.1e}"
    )
    return mine, other, error


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, medians of {ROUNDS}")
    generator = torch.Generator().manual_seed(0)
    network = models.fcn().double().eval()
    x = torch.randn(500, 1, dtype=torch.float64, generator=generator)
    flat = genni.random_plane(torch.tensor([1.0, -1.0, 0.8, 0.5]).double(), 3, generator=generator)
    mine, other, error = compare(
        "FCN", network, flat, lambda x: 0.8 * x.relu() - 0.5 * (-x).relu(), x, 50, 1000
    )
    failed = error > 1e-6 or other < 100 * mine or mine * 50**3 / 1000 > 0.5
    network = models.lenet(output_relu=False).eval()
    x = torch.randn(500, 1, 28, 28, generator=generator)
    theta = 2.0 * genni.random_starts(network, 1, generator=torch.Generator().manual_seed(1))
    flat = genni.random_plane(genni.parameter_vector(network), 3, generator=generator)
    mine, other, error = compare(
        "LeNet", network, flat, lambda x: genni.outputs(network, theta, x)[0], x, 4, 30
    )
    floor = 1000 * multiplications(network, x) / gemm_rate()
    print(f"{'':8}arithmetic floor {floor:.1f} ms a point; ours {mine:.1f} ms, {mine / floor:.1f} times that")
    failed |= error > 1e-4 or other < 1.5 * mine
    if failed:
        raise SystemExit("expected agreement, 100× and under 0.5 s (FCN), 1.5× (LeNet)")


if __name__ == "__main__":
    main()
