"""The two small networks for digits that instruments run, and the digits that they see."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from intertwine import similarity
from intertwine.data import Dataset
from intertwine.features import rows
from intertwine.groups import intertwiner_group
from intertwine.stitching import Junction, Stitched, stitch_at
from intertwine_book import data, zoo
from intertwine_book.live.export import exported, exported_digits, rounded

MAPS = {
    "none": "identity",
    "permutation": "permutation",
    "scaled": "scaled permutation",
    "least squares": "least squares",
}
"""Maps of the bench, and the kinds of `stitch` that they are."""


@dataclass(frozen=True)
class DigitNetworks:
    """Two networks, the digits that maps are fitted to, and others that judge them."""

    front: nn.Sequential
    back: nn.Sequential
    fit: Dataset
    judge: Dataset

    def exported(self) -> dict[str, Any]:
        """What `stitching.js` takes."""
        return {
            "networks": {"front": exported(self.front), "back": exported(self.back)},
            "digits": exported_digits(self.fit, self.judge),
            "fit": len(self.fit),
            "hidden": self._hidden(),
        }

    def _hidden(self) -> dict[int, list[tuple[int, float]]]:
        """For each width an element of the group of ReLU: where each channel comes from, and its unit."""
        generator, made = torch.Generator().manual_seed(0), {}
        for n in (layer.out_channels for layer in self.back if isinstance(layer, nn.Conv2d)):
            units, order = intertwiner_group("relu", n).sample(generator).max(1)
            made[n] = [
                (k, float(f"{unit:.4g}")) for k, unit in zip(order.tolist(), units.tolist(), strict=True)
            ]
        return made

    def stitched(
        self,
        front: nn.Module | None = None,
        *,
        layer: int = 2,
        before: bool = False,
        map: Any = "none",
        again: bool = False,
        at: str | None = None,
        **options: Any,
    ) -> Stitched:
        """The library's stitched network for a state of the bench.

        Example:
            >>> two = digit_networks(epochs=1)
            >>> two.stitched(two.back, map="scaled").evaluate(two.judge) == two.alone()
            True

        Args:
            front: the network whose front is taken, by default the first.
            layer: of which activation, from 1; `before`: whether the cut is before it.
            map: of `MAPS`, or any kind that `stitch` takes; `options` are those of the kind.
            again: whether batch norm is re-estimated on the digits of the fit.
            at: the layer of the front, where it has another name.
        """
        place = f"{'bn' if before else 'relu'}{layer}"
        exact: Any = {"device": "cpu", "dtype": "float32"}
        cut = Junction(front or self.front, self.back, (at or place, place), self.fit, **exact)
        norm = "reestimated" if again else "frozen"
        return stitch_at(cut, MAPS.get(map, map) if isinstance(map, str) else map, batch_norm=norm, **options)

    def alone(self) -> float:
        """The accuracy of the network whose back is used."""
        with torch.no_grad():
            return (self.back(self.judge.images).argmax(1) == self.judge.labels).double().mean().item()

    def measures(self, made: Stitched, *, layer: int = 2, before: bool = False) -> dict[str, float]:
        """Similarities of what reaches the back and what the back had in training, as the bench shows them.

        Example:
            >>> two = digit_networks(epochs=1)
            >>> near = two.measures(two.stitched(two.back))
            >>> {name: round(value, 6) for name, value in near.items()}
            {'cka': 1.0, 'r2': 1.0, 'orthogonal': 1.0, 'group': 1.0}

        CKA is the biased estimate, with digits as samples; Procrustes has positions as samples, and features
        that are not centred.
        """
        place = f"{'bn' if before else 'relu'}{layer}"
        with torch.no_grad():
            moved = made.stitch(made.front(self.judge.images)).double()
            known = self.back[: [*dict(self.back.named_children())].index(place) + 1](
                self.judge.images
            ).double()
        X, Y = rows(moved), rows(known)
        return {
            "cka": similarity.cka(moved, known, estimator="biased", spatial="features").item(),
            "r2": 1 - ((X - Y).square().sum() / (Y - Y.mean(0)).square().sum()).item(),
            "orthogonal": similarity.procrustes(X, Y, centred=False).item(),
            "group": similarity.procrustes(X, Y, "grelu", centred=False).item(),
        }


def digit_networks(
    seed: int = 0, *, width: int = 8, epochs: int = 8, fit: int = 200, judge: int = 200
) -> DigitNetworks:
    """Two Myrtle networks of different seeds, trained on handwritten digits, with the weights of a page.

    Example:
        >>> digit_networks(epochs=1).back.fc
        Linear(in_features=64, out_features=10, bias=True)

    It takes about two seconds where the zoo does not have them. The weights are rounded to float16.

    Args:
        seed: of the first network; the second has the next.
        width: channels of the first convolution.
        fit, judge: digits that maps are fitted to, of the training set, and others that judge them.
    """
    train, test = (data.load("digits", part, device="cpu") for part in ("train", "test"))
    recipe = replace(zoo.RECIPES["digits"], epochs=epochs)
    spec = zoo.Spec("myrtle", train, recipe, {"width": width, "in_channels": 1})
    front, back = (rounded(network) for network in zoo.pairs(spec, 1, seed=seed, device="cpu")[0])
    assert isinstance(front, nn.Sequential) and isinstance(back, nn.Sequential)
    return DigitNetworks(front, back, train[:fit], test[:judge])
