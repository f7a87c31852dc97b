"""All layers of one model against all layers of another."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.features import check_tensor
from intertwine.similarity.blocks import Blocks
from intertwine.similarity.by_grams import KERNELS, all_samples, minibatches
from intertwine.similarity.by_rows import by_features, by_moments
from intertwine.similarity.inputs import Spatial
from intertwine.similarity.registry import Measure, named
from intertwine.similarity.sums import ratios

if TYPE_CHECKING:
    import pandas as pd


def compare(
    model1: nn.Module,
    model2: nn.Module,
    images: Float[Tensor, "n ..."],
    layers1: Sequence[str],
    layers2: Sequence[str] | None = None,
    measure: str | Measure = "cka",
    *,
    spatial: Spatial | None = None,
    memory: int = 2**30,
    folder: str | Path | None = None,
    minibatch: int | None = None,
    passes: int = 1,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "auto",
    batch_size: int = 100,
    progress: bool = False,
) -> pd.DataFrame:
    """The measure of every layer of one model with every layer of the other, for the same images.

    Example:
        >>> from intertwine.models import myrtle
        >>> networks = [myrtle(2, in_channels=1, seed=seed) for seed in (0, 1)]
        >>> images = torch.randn(20, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        >>> compare(*networks, images, ["relu1", "relu2"], ["relu4"], device="cpu").shape
        (2, 1)

    Measures with kernels ("cka", "cka biased", "cka max", "grelu cka") take blocks of images: each block of a
    Gram matrix is formed once, for all layers, and used for all pairs. What is a function of second moments
    (Procrustes, CCA, R² and soft matching) streams over the images once. Others hold all features.

    `minibatch` averages HSIC_1 over random batches before the ratio is taken: unbiased for HSIC_1, consistent
    for the ratio, in time linear in n.

    Args:
        model1: any module; it is run in evaluation mode.
        model2: another, or the same.
        images: inputs of both.
        layers1: names of modules of the first.
        layers2: of the second; `layers1` when not given.
        measure: a name out of `MEASURES`.
        spatial: as in `cka`; the measure's own when not given. With "samples", maps of unlike sizes are
            resampled to the larger by nearest neighbours, as the authors of godfrey2022 did.
        memory: bytes for features and Gram blocks, beside the models and the images.
        folder: where features that do not fit may be kept meanwhile; without it they are computed again.
        minibatch: images in a batch; all at once when not given.
        passes: how often minibatches go through all images.
        generator: of the minibatches, on the CPU.
        dtype: of features and Gram products; sums of Gram products are in float64 always.
        device: where to compute, as `intertwine.devices.pick` takes it.
        batch_size: images that run through a model at a time.
        progress: whether to show a bar.

    Returns:
        Rows `layers1`, columns `layers2`; whether higher is more similar, the measure tells.

    Raises:
        ValueError: unknown layers or measure, no layer, fewer than 4 images, too little memory, features that
            are constant or not finite, or that have no positions in common where these are samples.
    """
    import pandas as pd

    measure = named(measure)
    layers2 = layers1 if layers2 is None else layers2
    spatial = spatial or measure.spatial
    check_tensor(images)
    if not (len(layers1) and len(layers2)):
        raise ValueError(
            f"Expected a layer or more of each model, was given {len(layers1)} and {len(layers2)}."
        )
    if len(images) < 4:
        raise ValueError(f"Expected at least 4 images, was given {len(images)}.")
    if measure.needs == "grams" and spatial == "samples":
        raise ValueError("Expected images as samples, for Gram blocks: choose 'features', 'mean' or 'sum'.")
    small = minibatch is not None and (minibatch < 4 or generator is None)
    if minibatch is not None and (small or measure.name not in KERNELS or measure.name == "cka biased"):
        raise ValueError(
            "Expected minibatches of at least 4 images, with a generator, for an unbiased CKA; was "
            f"given minibatch={minibatch} for {measure.name!r}."
        )
    sides = ((model1, layers1), (model2, layers2))
    with tempfile.TemporaryDirectory(dir=folder) if folder else nullcontext() as kept:
        blocks = Blocks(
            *sides, images, spatial,
            memory=memory, device=device, dtype=dtype, folder=kept, batch_size=batch_size,
        )  # fmt: skip
        first = len(layers1)
        if measure.needs == "moments":
            values = by_moments(blocks, measure, first, progress)
        elif measure.needs == "features":
            values = by_features(blocks, measure, spatial, first, progress)
        elif minibatch is None or generator is None:
            values = ratios(all_samples(blocks, measure.name, progress), first)
        else:
            hsic = minibatches(blocks, measure.name, minibatch, passes, generator, progress)
            values = ratios(hsic, first)
    return pd.DataFrame(values.numpy(force=True), index=list(layers1), columns=list(layers2))
