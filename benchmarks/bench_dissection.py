"""Dissection in rotated bases: cells that can matter against every pixel.

    python benchmarks/bench_dissection.py [units] [images]

256 units of 8×8 maps, 500 scenes of 64×64 pixels with 24 concepts, 11 angles of each of 5 rotations. The
dense form upsamples every map and multiplies all pixels by all masks, in float32; it is timed on one
rotation. Fails if a level or, against the dense form in float64, a count differs, if the sweep takes 60 s of
processor time or more, or if one rotation is less than five times as fast as the dense form. White noise is
the worst case: its peaks touch the most cells.
"""

import sys
import time

import torch
import torch.nn.functional as F
from torch import Tensor

from intertwine.dissection import dissect, haar_rotation, rotation_planes
from intertwine_book.data import scenes

QUANTILE = 0.005
ALPHAS = [k / 10 for k in range(11)]


def dense(maps: Tensor, masks: Tensor, rotation: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Levels and intersections, with every map upsampled."""
    maps = (rotation.to(maps) @ maps.flatten(2)).view_as(maps)
    numbers = maps.transpose(0, 1).flatten(1)
    keep = int(QUANTILE * numbers.shape[1] + 1e-6) + 1
    levels = numbers.topk(keep).values[:, -1]
    both = torch.zeros(maps.shape[1], masks.shape[1], dtype=dtype)
    for some, shown in zip(maps.split(25), masks.split(25), strict=True):
        excess = (some.to(dtype) - levels.to(dtype)[:, None, None]).contiguous()
        on = F.interpolate(excess, size=masks.shape[2:], mode="bilinear") > 0
        both += on.transpose(0, 1).flatten(1).to(dtype) @ shown.transpose(0, 1).flatten(1).to(dtype).T
    return levels, both


def main() -> None:
    units, images = (int(given) for given in [*sys.argv[1:], *("256", "500")[len(sys.argv) - 1 :]])
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(images, units, 8, 8, generator=generator)
    smooth = F.interpolate(F.avg_pool2d(noise, 2), size=8, mode="bilinear")
    _, masks = scenes(images, size=64)
    everything = masks.planes()
    Q = haar_rotation(units, generator)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {units} units, {images} images")
    wrong = False
    for name, maps in (("white noise", noise), ("smooth maps", smooth)):
        levels, exact = dense(maps, everything, Q, torch.float64)
        start = time.perf_counter()
        dense(maps, everything, Q, torch.float32)
        slow = time.perf_counter() - start
        start = time.perf_counter()
        found = dissect(maps, masks, quantile=QUANTILE, rotation=Q)
        fast = time.perf_counter() - start
        unequal = int((found.both != exact.long()).sum() + (found.levels != levels).sum())
        ratio = f"{slow / fast:.1f} times as fast"
        print(f"{name}: dense {slow:.2f} s, ours {fast:.2f} s, {ratio}; unequal counts: {unequal}")
        wrong |= bool(unequal) or slow < 5 * fast
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(5):
        path = rotation_planes(haar_rotation(units, generator))
        for alpha in ALPHAS:
            dissect(noise, masks, quantile=QUANTILE, rotation=path.power(alpha))
    sweep = time.perf_counter() - start
    busy = time.process_time() - busy  # of all threads: what tells on a machine that does other things too
    print(f"sweep of {len(ALPHAS)} angles × 5 rotations: {sweep:.1f} s, {busy:.1f} s of processor time")
    for n in (512, 2048):
        start = time.perf_counter()
        split = rotation_planes(haar_rotation(n, generator))
        once = time.perf_counter() - start
        error = (split.power(0.5) @ split.power(0.5) - split.power(1.0)).abs().max().item()
        print(f"planes of a rotation of {n}: {once:.1f} s; |Q^½ Q^½ - Q| {error:.1e}")
        wrong |= error > 1e-10
    if wrong or busy >= 60:
        raise SystemExit("expected equal counts, five times the speed, and a sweep within 60 s")


if __name__ == "__main__":
    main()
