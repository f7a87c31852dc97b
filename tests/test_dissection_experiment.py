"""What chapter 5 dissects: pairs of networks, their layers, the examples shown, and what a rotation costs."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from intertwine.dissection import dissect, examples
from intertwine_book import data, models
from intertwine_book import dissected as experiment
from intertwine_book.slopes import added, slopes
from intertwine_book.zoo import RECIPES

CAMVID = Path(os.environ.get("INTERTWINE_DATA", "")) / "camvid"


def test_a_pair_is_a_network_before_and_after_training(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path))
    scenes = data.scenes(300, seed=0).data
    recipe = replace(RECIPES["digits"], epochs=4, batch_size=30)
    both = experiment.pair("no ReLU", scenes, recipe, width=6, seed=3)
    again = experiment.pair("no ReLU", scenes, recipe, width=6, seed=3)
    assert torch.equal(both["trained"].fc.weight, again["trained"].fc.weight)
    before, after = (
        F.cross_entropy(both[key](scenes.images), scenes.labels).item() for key in ("untrained", "trained")
    )
    assert after < before - 0.05
    fresh = models.residual(6, output="identity", seed=3)
    assert torch.equal(both["untrained"].stem.weight, fresh.stem.weight)
    z = both["untrained"].block1.conv1(both["untrained"].stem(scenes.images))
    assert torch.allclose(both["untrained"].block1.bn1.running_mean, z.mean((0, 2, 3)), atol=1e-3)


@pytest.mark.parametrize("kind", experiment.SMALL_NETWORKS)
def test_every_kind_has_the_same_layers(kind):
    architecture, arguments = experiment.SMALL_NETWORKS[kind]
    network, images = getattr(models, architecture)(4, **arguments).eval(), torch.randn(3, 3, 16, 16)
    out, inside, added = (
        experiment.maps(network, kind, layer, images) for layer in experiment.RESIDUAL_LAYERS
    )
    assert out.shape == added.shape == (3, 8, 4, 4) and inside.shape[2:] == (4, 4)
    logits = network.fc(getattr(network, "last_norm", torch.nn.Identity())(out.mean((2, 3))))
    assert torch.allclose(logits, network(images), atol=1e-5)
    signed = {"ReLU": False, "tanh": True, "no ReLU": True, "ConvNeXt": True, "GELU": True}[kind]
    assert bool((out < 0).any()) == signed and (added < 0).any()
    assert inside.min() >= (-0.2 if kind == "ConvNeXt" else 0)


def test_examples_are_the_best_units_where_they_select_most():
    planes = torch.rand(30, 4, 8, 8, generator=torch.Generator().manual_seed(0)) < 0.1
    planes[7, 2] = True  # an image full of concept 2
    noise = torch.rand(planes.shape, generator=torch.Generator().manual_seed(1))
    maps = torch.cat([noise[:, :1], planes[:, [2, 2, 0]].float()], 1)
    chosen = examples(maps, dissect(maps, planes, quantile=0.3), (8, 8), units=3, images=2)
    assert [(each.unit, each.concept) for each in chosen[:2]] == [(1, "2"), (3, "0")]
    assert len({each.concept for each in chosen}) == len(chosen)
    assert chosen[0].images[0] == 7 and chosen[0].selected[0].all()
    assert torch.equal(chosen[1].selected, planes[chosen[1].images, 0])


def test_what_training_adds_is_the_difference_of_slopes_over_trials():
    """Rotations are averaged, an unequal number of them too, and other columns do not matter."""
    rows = [
        {
            "number": k,
            "weights": weights,
            "rotation": r,
            "alpha": alpha,
            "mean_iou": 0.5 - fall * alpha + r / 100,
        }
        for k in range(2)
        for weights, fall in (("trained", 0.2 + k / 10), ("untrained", 0.1))
        for r in range(3)
        for alpha in (0.0, 0.5, 1.0)
    ]
    table = pd.DataFrame(rows)
    found = added(table, ["number"])
    assert found["points"].tolist() == pytest.approx([10, 20])
    assert found["trained"].tolist() == pytest.approx([-0.2, -0.3])
    assert slopes(table, ["weights"], ["mean_iou"])["mean_iou"].tolist() == pytest.approx([-0.25, -0.1])


@pytest.mark.skipif(
    not CAMVID.is_dir(), reason="no CamVid: INTERTWINE_DATA names no folder with camvid in it"
)
def test_camvid_is_found_in_the_data_root():
    frames = experiment.camvid("test", limit=4)
    assert frames.data.images.shape == (4, 3, 180, 240) and len(frames.masks.names) == 11
    cut = data.patches(frames, 32, limit=20, seed=1)
    assert len(cut.labels) == 20 and torch.equal(
        cut.images, data.patches(frames, 32, limit=20, seed=1).images
    )


def test_without_camvid_the_folder_is_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=f"CamVid is not in {tmp_path}/camvid and is not downloaded: put the folders"
    ):
        experiment.camvid("test", root=tmp_path)
