"""The networks that records name: trained once, each kept in ``data/networks`` when finished."""

from collections.abc import Callable
from dataclasses import replace

from intertwine import devices
from intertwine.training import evaluate
from intertwine_book import data, zoo
from intertwine_book.zoo import RECIPES, Spec, kept

NORMED = RECIPES["growing"]
PRINTED = RECIPES["godfrey2022"]  # the authors' own training, of 50 epochs
UNNORMED = replace(NORMED, epochs=16, optimizer="adam", lr=1e-3)  # SGD diverges without batch norm
# kinds of Myrtle CNNs on CIFAR-10, in the order in which they are wanted: arguments, recipe, seeds
WANTED = (
    ({"width": 64}, NORMED, range(8)),
    ({"width": 64, "norm": False}, UNNORMED, range(3)),
    ({"width": 16}, NORMED, range(8)),
    ({"width": 32}, NORMED, range(4)),
    ({"width": 64}, PRINTED, range(8)),  # beside those of 24 epochs, which recorded rows name
)


def train_missing(report: Callable[[str], None]) -> None:
    """Train the wanted networks that are not kept yet, one after another, and keep each; say which are done.

    An interrupted training goes on from its last epoch. The accuracy of the manifest is that of the 16-bit
    file, on the whole test set, in float32.
    """
    train, test = (data.load("cifar10", split) for split in ("train", "test"))
    for arguments, recipe, seeds in WANTED:
        spec = Spec("myrtle", train, recipe, arguments)
        for seed in seeds:
            if kept.find(spec, (seed, seed)):
                continue
            (trained,) = zoo.get(spec, [seed], n_jobs=1)
            network = kept.rounded(trained.network)
            accuracy = evaluate(network, test.images, test.labels)
            precision = str(devices.precision(network, devices.pick(), spec.recipe.dtype))
            path = kept.keep(spec, (seed, seed), trained, accuracy, precision=precision)
            report(f"{path.name}: {accuracy:.2%}, {trained.history['seconds'].sum():.0f} s")
