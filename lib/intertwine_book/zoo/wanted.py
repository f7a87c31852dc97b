"""The networks that records name: trained once, each kept in ``data/networks`` when finished."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from intertwine import devices
from intertwine.training import Recipe, evaluate
from intertwine_book import data, zoo
from intertwine_book.zoo import RECIPES, Spec, kept

NORMED = RECIPES["growing"]
PRINTED = RECIPES["godfrey2022"]  # the authors' own training, of 50 epochs
UNNORMED = replace(NORMED, epochs=16, optimizer="adam", lr=1e-3)  # SGD diverges without batch norm
Kind = tuple[dict[str, Any], Recipe, Iterable[int]]
# kinds of Myrtle CNNs on CIFAR-10, in the order in which they are wanted: arguments, recipe, seeds
WANTED: Sequence[Kind] = (
    ({"width": 64}, NORMED, range(8)),
    ({"width": 64, "norm": False}, UNNORMED, range(3)),
    ({"width": 16}, NORMED, range(8)),
    ({"width": 32}, NORMED, range(4)),
    ({"width": 64}, PRINTED, range(8)),  # beside those of 24 epochs, which recorded rows name
)


def train_missing(report: Callable[[str], None], wanted: Sequence[Kind] = WANTED) -> None:
    """Train the wanted networks that are not kept yet, and keep each; say which are done.

    On a CPU one is trained after another, and an interrupted training goes on from its last epoch; on a GPU
    those of one kind are trained at once. The accuracy of the manifest is that of the 16-bit file, on all
    test images, in float32.
    """
    device = devices.pick()
    train, test = (data.load("cifar10", split, device=device) for split in ("train", "test"))
    for arguments, recipe, seeds in wanted:
        spec = Spec("myrtle", train, recipe, arguments)
        missing = [seed for seed in seeds if not kept.find(spec, (seed, seed))]
        at_once = len(missing) if device.type == "cuda" else 1
        for lot in (missing[k : k + at_once] for k in range(0, len(missing), at_once or 1)):
            for seed, trained in zip(lot, zoo.get(spec, lot), strict=True):
                network = kept.rounded(trained.network)
                accuracy = evaluate(network, test.images, test.labels)
                precision = str(devices.precision(network, device, spec.recipe.dtype))
                path = kept.keep(spec, (seed, seed), trained, accuracy, precision=precision)
                report(f"{path.name}: {accuracy:.2%}, {trained.history['seconds'].sum():.0f} s")
