"""Shallow ReLU networks: verdicts on known pairs, and the time that large networks take on one core.

    python benchmarks/bench_shallow.py [cases of each kind, 10,000 by default]

For each kind of pair, equal and nearly so, the verdict is compared with the truth, in exact arithmetic and in
float64, and the exact certificate is evaluated. Fails if one is wrong, if 100,000 neurons take more than 2 s
or more than 15 times as long as 10,000, or if 40 neurons take more than 5 s for their hidden symmetries.
All times are CPU seconds of one core: other programs disturb them less.
"""

import sys
import time

import numpy as np
import torch

from intertwine import shallow
from intertwine.shallow import ShallowReLU, random_network, same_function
from intertwine.shallow.random_networks import random_integers
from intertwine_book.experiments.known_pairs import PAIR_KINDS, known_pair


def certified(p: ShallowReLU, q: ShallowReLU, x: np.ndarray) -> bool | None:
    """The exact verdict; a certificate that does not hold raises."""
    answer = same_function(p, q)
    if answer.equal:
        symmetry = answer.symmetry
        values = [network(x) for network in (p, symmetry.p, symmetry.image(), symmetry.q, q)]
        holds = all((value == values[0]).all() for value in values)
    else:
        at = answer.witness
        holds = (p(at.x) == at.p).all() and (q(at.x) == at.q).all() and (at.p != at.q).any()
    if not holds:
        raise SystemExit(f"expected a certificate that holds, found none for {p} and {q}")
    return answer.equal


def verdicts(cases: int) -> int:
    wrong = 0
    print(f"{'kind':16}{'near miss':>10}{'cases':>8}{'wrong':>7}{'wrong in float64':>18}{'ms a case':>11}")
    for kind in PAIR_KINDS:
        for near_miss in (False, True):
            generator = torch.Generator().manual_seed(7)
            exact = rounded = 0
            start = time.process_time()
            for _ in range(cases):
                p, q, equal = known_pair(kind, near_miss=near_miss, generator=generator)
                x = random_integers(-5, 5, (2, p.m), generator)
                exact += certified(p, q, x) is not equal
                rounded += same_function(p.float(), q.float()).equal is not equal
            each = 1e3 * (time.process_time() - start) / cases
            print(f"{kind:16}{near_miss!s:>10}{cases:8,}{exact:7}{rounded:18}{each:11.2f}", flush=True)
            wrong += exact + rounded
    return wrong


def seconds(n: int, changed: bool) -> float:
    """The median of five verdicts on n neurons, 64 inputs and 10 outputs."""
    generator = np.random.default_rng(0)
    normal = generator.normal
    p = ShallowReLU(normal(size=(n, 64)), normal(size=n), normal(size=(10, n)), normal(size=10))
    order, scales = generator.permutation(n), np.exp(normal(size=n))  # the matrix would take 80 GB
    q = p.with_neurons(order)
    q = ShallowReLU(q.W * scales[:, None], q.b * scales, q.V / scales, q.c)
    if changed:
        V = q.V.copy()
        V[0, n // 2] *= 1.001
        q = ShallowReLU(q.W, q.b, V, q.c)
    times = []
    for _ in range(5):
        start = time.process_time()
        answer = same_function(p, q).equal
        times.append(time.process_time() - start)
        if answer is changed:
            raise SystemExit(f"expected {not changed}, found {answer} for {n} neurons")
    return float(np.median(times))


def main() -> None:
    torch.set_num_threads(1)
    failures = []
    times = {(n, changed): seconds(n, changed) for changed in (False, True) for n in (10_000, 100_000)}
    for changed in (False, True):
        small, large = times[10_000, changed], times[100_000, changed]
        what = "one weight of 10⁻³ off" if changed else "permuted and scaled"
        print(f"same_function, {what}: 10⁴ neurons {small:.3f} s, 10⁵ neurons {large:.3f} s", end="")
        print(f", ratio {large / small:.1f}")
        if large > 2 or large > 15 * small:
            failures.append("at most 2 s for 10⁵ neurons and 15 times the time for 10⁴")
    for m, k, size in ((1, 1, 8), (2, 1, 8), (4, 1, 127), (2, 2, 3)):
        p = random_network(40, m, k, size, generator=torch.Generator().manual_seed(m))
        start = time.process_time()
        count = shallow.hidden_symmetries(p).count
        took = time.process_time() - start
        print(
            f"hidden symmetries, 40 neurons, {m} inputs, {k} outputs, |integers| ≤ {size}: {count:,}", end=""
        )
        print(f" in {took:.2f} s")
        if took > 5:
            failures.append("at most 5 s for the hidden symmetries of 40 neurons")
    if wrong := verdicts(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000):
        failures.append(f"no wrong verdict, found {wrong}")
    if failures:
        raise SystemExit("expected " + "; ".join(failures))


if __name__ == "__main__":
    main()
