"""Concept scenes, segmented folders and the networks that are trained on them."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from intertwine.data import Masks
from intertwine_book import data, models
from intertwine_book.data import SegmentedFolder, concepts, patches, scenes
from intertwine_book.data.segmented import STREET

CAMVID = Path(os.environ.get("INTERTWINE_DATA", "")) / "camvid"
NAMES = list(STREET)


# --- masks ---


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 80), st.integers(1, 6), st.integers(0, 999))
def test_masks_keep_every_plane(n, count, side, seed):
    planes = torch.rand(n, count, side, side, generator=torch.Generator().manual_seed(seed)) < 0.3
    masks = Masks.of(planes, [str(k) for k in range(count)])
    assert torch.equal(masks.planes(), planes)
    assert torch.allclose(masks.areas(), planes.double().mean((0, 2, 3)))


@pytest.mark.parametrize("n", [2, 3, 50])
def test_shuffled_masks_are_those_of_other_images(n):
    codes = torch.arange(n, dtype=torch.int32)[:, None, None].expand(n, 2, 2)
    masks = Masks(codes, torch.eye(n).bool(), tuple(map(str, range(n))), ("object",) * n)
    for seed in range(20):
        moved = masks.shuffled(torch.Generator().manual_seed(seed)).codes[:, 0, 0]
        assert sorted(moved.tolist()) == list(range(n)) and (moved != torch.arange(n)).all()
    with pytest.raises(ValueError, match="two images"):
        Masks.of(torch.ones(1, 1, 2, 2).bool(), ["a"]).shuffled(torch.Generator())


# --- scenes ---


def test_scenes_have_24_concepts_and_every_pixel_one_of_most_kinds():
    dataset, masks = scenes(64, seed=5)
    assert len(masks.names) == len(set(masks.names)) == 24
    kinds = np.array(masks.categories)
    planes = masks.planes()
    for kind in ("colour", "texture", "material"):
        assert (planes[:, kinds == kind].sum(1) == 1).all()
    assert (planes[:, kinds == "shape"].sum(1) <= 1).all()
    assert (masks.areas() > 0.005).all()
    intensities = dataset.images * dataset.std + dataset.mean
    assert intensities.min() > -1e-5 and intensities.max() < 1 + 1e-5


def test_colours_are_what_their_masks_say():
    dataset, masks = scenes(200, seed=6)
    pixels, planes = (dataset.images * dataset.std + dataset.mean).movedim(1, -1), masks.planes()
    matte = planes[:, masks.names.index("matte")] & planes[:, masks.names.index("plain")]
    for name, colour in concepts.PAINTS.items():
        seen = pixels[matte & planes[:, masks.names.index(name)]]
        assert torch.allclose(seen, torch.tensor(colour), atol=1 / 255)


def test_labels_are_colour_and_shape_of_the_thing_in_front_equally_often():
    dataset, masks = scenes(160, seed=7)
    assert torch.bincount(dataset.labels).tolist() == [10] * 16
    planes = masks.planes()
    for k, name in enumerate(dataset.classes):
        colour, shape = name.split()
        both = planes[:, masks.names.index(colour)] & planes[:, masks.names.index(shape)]
        assert (both[dataset.labels == k].flatten(1).sum(1) > 20).all()


def test_scenes_depend_on_the_seed_alone():
    one, two = scenes(20, seed=1), scenes(20, seed=1)
    assert one.data.checksum == two.data.checksum and torch.equal(one.masks.codes, two.masks.codes)
    assert torch.equal(one.data.images, two.data.images)
    assert scenes(20, seed=2).data.checksum != one.data.checksum
    assert scenes(20, size=48, seed=1).data.images.shape == (20, 3, 48, 48)


def test_concepts_load_like_any_data_set():
    test = data.load("concepts", "test")
    drawn = scenes(500, seed=1)
    assert torch.allclose(test.images, drawn.data.images, atol=1e-5)
    assert torch.equal(test.labels, drawn.data.labels) and test.classes == drawn.data.classes
    assert abs(test.images.mean()) < 0.15 and abs(test.images.std() - 1) < 0.1


# --- folders ---


@pytest.fixture
def folder(tmp_path):
    """Three images of 12×16, left half road and right half sky; the last column is void."""
    for place in ("images", "masks"):
        (tmp_path / place).mkdir()
    for k in range(3):
        Image.fromarray(np.full((12, 16, 3), 40 * k + 10, np.uint8)).save(tmp_path / f"images/{k}.png")
        mask = np.zeros((12, 16), np.uint8)
        mask[:, 8:], mask[:, 15] = 1, 255
        Image.fromarray(mask).save(tmp_path / f"masks/{k}.png")
    return tmp_path


def test_a_folder_is_read_in_order_with_its_masks(folder):
    dataset, masks = SegmentedFolder(folder / "images", folder / "masks", ["road", "sky"]).load()
    intensities = (dataset.images * dataset.std + dataset.mean)[:, 0, 0, 0] * 255
    assert intensities.round().tolist() == [10, 50, 90] and dataset.labels.tolist() == [0, 0, 0]
    assert masks.areas().tolist() == [0.5, 7 / 16]
    planes = masks.planes()
    assert planes[:, 0, :, :8].all() and planes[:, 1, :, 8:15].all() and not planes[..., 15].any()


def test_a_folder_can_be_resized_thinned_out_and_normalised_like_another(folder):
    whole = SegmentedFolder(folder / "images", folder / "masks", ["road", "sky"], ["flat", "far"])
    dataset, masks = whole.load(size=(6, 8), limit=2, mean=(0.5,) * 3, std=(0.25,) * 3)
    assert dataset.images.shape == (2, 3, 6, 8) and masks.codes.shape == (2, 6, 8)
    assert masks.categories == ("flat", "far")
    assert torch.allclose(dataset.images[0], torch.tensor((10 / 255 - 0.5) / 0.25))


def test_patches_have_the_label_of_what_covers_them(folder):
    whole = SegmentedFolder(folder / "images", folder / "masks", ["road", "sky"]).load()
    cut = patches(whole, 4)
    assert cut.images.shape == (36, 3, 4, 4) and cut.labels.tolist() == [0, 0, 1, 1] * 9
    assert torch.equal(cut.images[:12].mean((1, 2, 3)), whole.data.images[0].mean().expand(12))
    assert len(patches(whole, 1).labels) == 3 * 12 * 15  # the last column is void
    with pytest.raises(ValueError, match="within"):
        patches(whole, 13)


def test_what_is_wrong_with_a_folder_is_said(folder):
    there = SegmentedFolder(folder / "images", folder / "masks", ["road", "sky"])
    with pytest.raises(FileNotFoundError, match="is none"):
        SegmentedFolder(folder / "images", folder / "nowhere", ["road"]).load()
    Image.new("RGB", (20, 20)).save(folder / "images/9.png")
    with pytest.raises(ValueError, match="found none for '9'"):
        there.load()
    Image.new("L", (20, 20)).save(folder / "masks/9.png")
    with pytest.raises(ValueError, match="of one size"):
        there.load()
    assert len(there.load(size=(6, 6)).data.images) == 4
    Image.new("L", (20, 10)).save(folder / "masks/9.png")
    with pytest.raises(ValueError, match=r"one aspect ratio, found \(20, 20\) in .*9.png and \(10, 20\)"):
        there.load(size=(6, 6))


@pytest.mark.skipif(
    not CAMVID.is_dir(), reason="no CamVid: INTERTWINE_DATA names no folder with camvid in it"
)
def test_camvid():
    folder = SegmentedFolder(CAMVID / "test", CAMVID / "testannot", NAMES)
    dataset, masks = folder.load(limit=12)
    assert dataset.images.shape == (12, 3, 180, 240)
    area = dict(zip(masks.names, masks.areas().tolist(), strict=True))
    assert area["Road"] > 0.15 and area["Building"] > 0.1 and area["Cyclist"] < 0.1
    cut = patches(folder.load(limit=12), 32)
    assert cut.images.shape[1:] == (3, 32, 32) and set(cut.labels.tolist()) >= {0, 1, 3}


# --- networks ---


def test_residual_networks_differ_in_the_activation_on_the_output_alone():
    nets = {name: models.residual(4, output=name, seed=3) for name in ("relu", "identity", "tanh", "gelu")}
    states = [net.state_dict() for net in nets.values()]
    assert all(torch.equal(states[0][key], state[key]) for state in states for key in state)
    x = torch.randn(2, 3, 16, 16)
    block = {name: net.eval().block1 for name, net in nets.items()}
    sums = block["identity"](nets["identity"].stem(x))
    for name, act in (("relu", torch.relu), ("tanh", torch.tanh), ("gelu", nn.functional.gelu)):
        assert torch.equal(block[name](nets[name].stem(x)), act(sums))
    assert [layer.name for layer in nets["relu"].hidden_layers()][-2:] == ["block2.inner", "block2.output"]


@pytest.mark.parametrize("width", [8, 12, 16, 32, 64, 128])
def test_a_convnext_has_as_many_parameters_as_its_residual_network(width):
    ours, theirs = (
        sum(p.numel() for p in build(width).parameters()) for build in (models.convnext, models.residual)
    )
    assert abs(ours - theirs) < 0.02 * theirs


def test_convnext_computes_its_formula_and_is_fixed_by_its_seed():
    net = models.convnext(4, seed=1)
    block, x = net.block1, torch.randn(2, 4, 8, 8)
    y = block.depthwise(x).movedim(1, -1)
    y = (y - y.mean(-1, keepdim=True)) / (y.var(-1, correction=0, keepdim=True) + 1e-6).sqrt()
    grown = y @ block.grow.weight[:, :, 0, 0].T + block.grow.bias
    shrunk = nn.functional.gelu(grown) @ block.shrink.weight[:, :, 0, 0].T + block.shrink.bias
    assert torch.allclose(block(x), x + shrunk.movedim(-1, 1), atol=1e-5)
    state = torch.random.get_rng_state()
    again = models.convnext(4, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), again.parameters(), strict=True))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert not torch.equal(models.convnext(4, seed=2).fc.weight, net.fc.weight)


def test_the_full_size_path_on_a_folder(folder):
    """As a reader runs it, at small size: finetune, dissect, rotate."""
    resnet18 = pytest.importorskip("torchvision").models.resnet18
    from intertwine.dissection import dissect, haar_rotation
    from intertwine.features import features
    from intertwine.training import Recipe, train

    whole = SegmentedFolder(folder / "images", folder / "masks", ["road", "sky"])
    norm = {"mean": models.IMAGENET_MEAN, "std": models.IMAGENET_STD}
    segments = whole.load(size=(48, 64), **norm)
    network = resnet18(num_classes=2)
    cut = patches(segments, 16)
    recipe = Recipe(epochs=1, batch_size=36, lr=1e-3, optimizer="adam", dtype="float32")
    tuned = train(network, cut, recipe, seed=0, device="cpu").network

    def units():
        return (b["layer2"] for b in features(tuned, ["layer2"], segments.data.images, batch_size=2))

    for Q in (None, haar_rotation(128, torch.Generator().manual_seed(0))):
        best = dissect(units, segments.masks, rotation=Q, equal_area=True).best
        assert len(best) == 128 and 0 <= best.min() <= best.max() <= 1
