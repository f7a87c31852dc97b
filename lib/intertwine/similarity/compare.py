"""All layers of one model against all layers of another."""

from collections.abc import Callable, Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.checks import check_tensor
from intertwine.similarity.blocks import Blocks
from intertwine.similarity.inputs import Spatial, check_spatial, of_one_size
from intertwine.similarity.layer_hsic import all_samples, ratios
from intertwine.similarity.moments import by_moments
from intertwine.similarity.registry import MEASURES, Measure, as_measure


def compare(
    model1: nn.Module,
    model2: nn.Module,
    layers: Sequence[str],
    images: Float[Tensor, "n ..."],
    measure: str | Measure | Callable[[Tensor, Tensor], Tensor | float] = "cka",
    *,
    layers2: Sequence[str] | None = None,
    spatial: Spatial | None = None,
    memory: int = 2**30,
    device: str | torch.device = "auto",
    batch_size: int = 200,
) -> pd.DataFrame:
    """The measure of every layer of one model with every layer of the other, for the same images.

    Example:
        >>> layers = nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 4, 3), nn.ReLU()
        >>> networks = [nn.Sequential(*layers[:2]), nn.Sequential(*layers)]
        >>> images = torch.randn(
        ...     20, 1, 8, 8, generator=torch.Generator().manual_seed(0)
        ... )
        >>> compare(*networks, ["0", "1"], images, layers2=["3"], device="cpu").shape
        (2, 1)
        >>> def cosine(X, Y):  # a measure of your own
        ...     return torch.cosine_similarity(X.norm(dim=1), Y.norm(dim=1), dim=0)
        >>> own = compare(*networks, ["0", "1"], images, cosine, device="cpu")
        >>> bool(own.loc["0", "0"] > 0.999)  # the same module
        True

    Measures with kernels ("cka", "cka biased", "cka max", "grelu cka") take blocks of images: each block of a
    Gram matrix is formed once, for all layers, and used for all pairs. Functions of second moments
    (Procrustes, CCA, R² and soft matching) stream over the images once. Others need all features in memory.

    Args:
        model1, model2: any modules, run in evaluation mode.
        layers: names of modules of the first, and of the second unless `layers2` has others.
        images: inputs of both models, 4 or more, as these take a batch.
        measure: a name out of `MEASURES`, or a function of two sets of features of the same images, matrices
            (n, c) in float64, that returns a number; bind its options with `functools.partial`.
        layers2: names of modules of the second model; those of `layers` when not given.
        spatial: as in `cka`; the measure's own when not given, for a function "features". With "samples",
            maps of unlike sizes are resampled to the larger by nearest neighbours, as the authors of
            godfrey2022 did.
        memory: bytes for features and Gram blocks, without the models and the images.
        device: as `intertwine.devices.pick` takes it; models elsewhere are copied there.
        batch_size: images that a model is run on at a time.

    Returns:
        Rows `layers`, columns `layers2`; the measure says whether higher is more similar.

    See Also:
        `which` lists the measures and their invariances; `null` says what unrelated features reach.

    Raises:
        ValueError: unknown layers or measure, no layer, fewer than 4 images, too little memory, features that
            are constant or not finite, or that have no positions in common where these are samples, or a
            function that does not return a number.

    Warns:
        UserWarning: so few samples that "cca", "svcca", "pwcca" or "r2" of some layers is 1, wholly or in
            part, whatever the features.
    """
    measure = as_measure(measure)
    by_grams = measure.needs == "grams" and measure is MEASURES.get(measure.name)  # no other kernel is known
    layers2 = layers if layers2 is None else layers2
    check_spatial(spatial, kernel=measure.needs != "moments")
    spatial = spatial or measure.spatial
    check_tensor(images, "images")
    for each in (layers, layers2):
        if not (isinstance(each, Sequence) and all(isinstance(name, str) for name in each)):
            raise ValueError(f"Expected a list of layers' names, was given {each!r}: model 2 has layers2=.")
    if not (len(layers) and len(layers2)):
        raise ValueError(
            f"Expected a layer or more of each model, was given {len(layers)} and {len(layers2)}."
        )
    if len(images) < 4:  # the unbiased HSIC divides by n − 3
        raise ValueError(f"Expected at least 4 images, was given {len(images)}.")
    if by_grams and spatial == "samples":
        raise ValueError("Expected images as samples, for Gram blocks: choose 'features', 'mean' or 'sum'.")
    sides = ((model1, layers), (model2, layers2))
    blocks = Blocks(*sides, images, spatial, memory=memory, device=device, batch_size=batch_size)
    if measure.needs == "moments":
        values = by_moments(blocks, measure, layers, layers2)
    elif not by_grams:
        values = _by_features(blocks, measure, spatial, len(layers))
    else:
        values = ratios(all_samples(blocks, measure.name), len(layers))
    return pd.DataFrame(values.numpy(force=True), index=list(layers), columns=list(layers2))


def _by_features(blocks: Blocks, measure: Measure, spatial: Spatial, first: int) -> Float[Tensor, "p q"]:
    """The measure between the first p layers and the others, from all features at once."""
    if len(blocks) > 1 and not blocks.whole:
        raise ValueError(
            f"Expected memory for all features at once, which {measure.name!r} needs, and these do not fit: "
            f"raise memory=, or take fewer images or layers."
        )
    layers = [torch.cat(parts) for parts in zip(*blocks, strict=True)]
    # where positions are averaged or flattened, sizes need not agree
    one_size = of_one_size if spatial == "samples" else lambda X, Y: (X, Y)
    values = [measure(*one_size(X, Y), spatial=spatial) for X in layers[:first] for Y in layers[first:]]
    return torch.stack(values).view(first, -1)
