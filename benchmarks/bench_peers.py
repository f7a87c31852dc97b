"""Our methods beside public libraries, in one run: do the values agree, and who is faster?

    pip install torch_cka POT geotorch        # peers that are not installed are named and left out
    python benchmarks/bench_peers.py [repeats, 5 by default]

Times are medians of CPU seconds of one core. Fails where values differ by more than 10⁻⁴, relative. One
exception: torch_cka adds up its HSIC in float32 and loses digits there; in float64 its formula gives ours.
"""

import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch

from intertwine import alignment, models, similarity
from intertwine.dissection import geodesic, haar_rotation
from intertwine.stitching import Orthogonal

Pair = tuple[Callable[[], object], Callable[[], object]]
GENERATOR = torch.Generator().manual_seed(0)


def draw(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=GENERATOR)


def procrustes() -> Pair:
    from scipy.linalg import orthogonal_procrustes

    X, Y = draw(2000, 256), draw(2000, 256)
    ours = lambda: alignment.orthogonal(alignment.Statistics.of(X, Y)).weight.T  # noqa: E731
    return ours, lambda: orthogonal_procrustes(X.numpy(), Y.numpy())[0]


def lasso() -> Pair:
    from sklearn.linear_model import Lasso

    X = draw(2000, 64)
    Y = X @ draw(64, 64) + draw(2000, 64)
    alpha = 200.0
    ours = lambda: alignment.lasso(alignment.Statistics.of(X, Y), alpha).weight  # noqa: E731
    peer = Lasso(alpha / len(X), fit_intercept=False, tol=1e-10)
    return ours, lambda: peer.fit(X.numpy(), Y.numpy()).coef_


def cca() -> Pair:
    from sklearn.cross_decomposition import CCA

    X = draw(1000, 16)
    Y = X @ draw(16, 16) + 3 * draw(1000, 16)

    def theirs() -> float:
        scores = CCA(n_components=16, max_iter=5000, tol=1e-9).fit_transform(X.numpy(), Y.numpy())
        return np.mean([np.corrcoef(*columns)[0, 1] for columns in zip(*(s.T for s in scores), strict=True)])

    return lambda: similarity.cca(X, Y), theirs


def power() -> Pair:
    from scipy.linalg import expm, logm

    Q = haar_rotation(256, GENERATOR)
    alphas = torch.linspace(0, 1, 11, dtype=torch.float64)
    theirs = lambda: np.stack([expm(a * logm(Q.numpy()).real) for a in alphas.numpy()])  # noqa: E731
    return lambda: geodesic(Q, alphas), theirs


def soft_matching() -> Pair:
    import ot

    X, Y = draw(500, 96), draw(500, 64)

    def theirs() -> float:
        A, B = (Z - Z.mean(0) for Z in (X, Y))
        A, B = (Z / Z.norm() * Z.shape[1] ** 0.5 for Z in (A, B))
        costs = torch.cdist(A.T, B.T).square().numpy()
        return ot.emd2([], [], costs) ** 0.5

    return lambda: similarity.soft_matching(X, Y), theirs


def layers() -> Pair:
    from torch.utils.data import DataLoader, TensorDataset
    from torch_cka import CKA

    networks = [models.myrtle(8, in_channels=1, seed=seed).eval() for seed in (0, 1)]
    images = torch.randn(400, 1, 16, 16, generator=GENERATOR)
    names = [f"relu{k}" for k in (1, 2, 3, 4)]
    ours = lambda: similarity.compare(*networks, names, images, device="cpu").to_numpy()  # noqa: E731

    def theirs() -> torch.Tensor:
        loader = DataLoader(TensorDataset(images), batch_size=len(images))
        peer = CKA(*networks, "one", "other", names, names)
        with torch.no_grad():
            peer.compare(loader, loader)
        return peer.export()["CKA"]

    return ours, theirs


def orthogonal_layer() -> Pair:
    import geotorch

    def trained(layer: torch.nn.Module) -> float:
        optimizer = torch.optim.Adam(layer.parameters(), lr=1e-2)
        for _ in range(300):
            optimizer.zero_grad()
            loss = (X @ layer.weight.T - Y).square().mean()
            loss.backward()
            optimizer.step()
        return loss.item()

    X = draw(512, 64).float()
    Y = X @ haar_rotation(64, GENERATOR).float()

    def theirs() -> float:
        layer = torch.nn.Linear(64, 64, bias=False)
        geotorch.orthogonal(layer, "weight")
        return trained(layer)

    # from their random starts neither need arrive; what is compared is the time, and that both lower the loss
    start = 1.5
    ours = lambda: float(trained(Orthogonal(64, 64, generator=GENERATOR)) < start)  # noqa: E731
    return ours, lambda: float(theirs() < start)


ROUNDING = {"torch_cka": 0.02}
PEERS = {
    "orthogonal Procrustes, 2000 × 256": ("scipy", procrustes),
    "lasso, 2000 × 64 to 64": ("sklearn", lasso),
    "CCA, 1000 × 16": ("sklearn", cca),
    "11 powers of a rotation of 256 dimensions": ("scipy", power),
    "soft matching, 96 units to 64": ("ot", soft_matching),
    "unbiased CKA of 4 × 4 layers, 400 images": ("torch_cka", layers),
    "300 steps of an orthogonal layer": ("geotorch", orthogonal_layer),
}


def measured(run: Callable[[], object], repeats: int) -> tuple[np.ndarray, float]:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        value = run()
        times.append(time.process_time() - start)
    return np.asarray(value, dtype=float), float(np.median(times))


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # the peers'
    repeats, failures = int(sys.argv[1]) if len(sys.argv) > 1 else 5, []
    print(f"{'method':44}{'peer':11}{'difference':>11}{'ours, s':>9}{'peer, s':>9}{'ratio':>8}")
    for name, (peer, prepare) in PEERS.items():
        if find_spec(peer) is None:
            print(f"{name:44}{peer:11} not installed")
            continue
        (mine, own), (theirs, other) = (measured(run, repeats) for run in prepare())
        off = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
        print(f"{name:44}{peer:11}{off:11.1e}{own:9.4f}{other:9.4f}{other / own:8.1f}", flush=True)
        if off > ROUNDING.get(peer, 1e-4):
            failures.append(name)
    if failures:
        raise SystemExit(f"expected the peers' values, found others for {', '.join(failures)}")


if __name__ == "__main__":
    main()
