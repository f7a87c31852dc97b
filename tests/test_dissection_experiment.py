"""What chapter 5 dissects: pairs of networks, their layers, the examples shown, slopes and differences."""

import os
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from intertwine.data import Dataset, Masks
from intertwine.dissection import dissect, examples
from intertwine.features import activations
from intertwine_book import data, models
from intertwine_book.experiments.interpretability import imagenet
from intertwine_book.experiments.interpretability import networks as experiment
from intertwine_book.experiments.interpretability.against_rotation import (
    differences,
    interpretability,
    slopes,
)
from intertwine_book.results import Run, on_record
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


def test_differences_are_slopes_of_trained_minus_untrained():
    planes = torch.rand(60, 6, 8, 8, generator=torch.Generator().manual_seed(2)) < 0.15
    masks = Masks.of(planes, list("abcdef"))
    noise = torch.randn(planes.shape, generator=torch.Generator().manual_seed(3))
    tables = [
        interpretability(units, masks, width=6, seed=k, rotations=2, quantiles=[0.2]).assign(
            weights=weights, number=k
        )
        for k in range(2)
        for weights, units in (("trained", planes.float()), ("untrained", noise))
    ]
    table = pd.concat(tables)
    found = differences(table, ["number"], ["mean_iou", "above_null"])
    assert len(found) == 4 and (found["difference"] == found["trained"] - found["untrained"]).all()
    one = found[(found["number"] == 1) & (found["statistic"] == "mean_iou")].iloc[0]
    own = table[(table["number"] == 1) & (table["weights"] == "trained")]
    assert one["trained"] == slopes(own, ["number"], ["mean_iou"])["mean_iou"][0]
    assert (found.loc[found["statistic"] == "mean_iou", "difference"] < -0.2).all()


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


def test_a_network_of_imagenet_is_dissected_behind_its_activations_and_at_its_output():
    planes = torch.rand(4, 3, 24, 32, generator=torch.Generator().manual_seed(0)) < 0.2
    drawn = Dataset.of(torch.randn(4, 3, 48, 64, generator=torch.Generator().manual_seed(1)), torch.arange(4))
    masked = data.Segmented(drawn, Masks.of(planes))
    network = models.efficientnet_lite(0, pretrained=False)
    asked = {"rotations": 2, "alphas": [0.0, 1.0], "quantiles": [0.1]}
    table = imagenet.dissected(masked, network, block=3, seed=0, **asked)
    assert table["layer"].tolist() == [layer for layer in imagenet.LAYER_ENDINGS for _ in (0, 1)]
    assert table["units"].tolist() == [144] * 4 + [24] * 2
    first = activations(network, ["block3.relu1"], drawn.images)["block3.relu1"]
    own = dissect(first, masked.masks, quantile=0.1)
    assert table["mean_iou"][0] == pytest.approx(own.best.mean().item(), abs=1e-6)
    assert table["area"][0] == pytest.approx(own.units()["share"].mean(), abs=1e-6)
    fixed = imagenet.dissected(masked, network, block=3, seed=0, **asked, equal_area=True)
    # in the own basis values are equal behind ReLU6, and a unit selects less
    assert (fixed["area"] <= 0.1).all() and (fixed.query("alpha == 1")["area"] > 0.0999).all()
    assert (table["area"] < 0.099).any()
    for number, ends in enumerate(imagenet.STAGE_ENDS):
        blocks = dict(models.efficientnet_lite(number, pretrained=False).named_children())
        last = [k for k in range(2, 22) if f"block{k}" in blocks]
        last = [k for k in last if f"block{k + 1}" not in blocks or not blocks[f"block{k + 1}"].passes]
        assert sorted(ends) == last[-5:]


def test_what_claims_read_of_imagenet_follows_from_the_recorded_rows(monkeypatch):
    written = {}

    class Recorded(Run):
        def steps(self, name, *case, **facts):
            return on_record("05_interpretability", name)

        def write(self, *, uses, data, **frames):
            written.update(frames)

    asked = {"lite_frames": 120, "lite_rotations": 5, "lite_networks": [0, 1, 2]}
    monkeypatch.setattr(imagenet, "frames", lambda *limits: data.scenes(1, seed=0, device="cpu"))
    imagenet.write(Recorded("05_interpretability", asked, 0, "cpu"))
    assert len(written) == 4
    for name, table in written.items():
        recorded = on_record("05_interpretability", name)
        pd.testing.assert_frame_equal(table, recorded, check_names=False, rtol=1e-9)
