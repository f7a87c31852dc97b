"""The library on a GPU: strict about devices, in full float32, and with the numbers that the CPU has."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers import normal64
from torch import nn

from intertwine import alignment, devices, genni
from intertwine.data import Masks
from intertwine.dissection import dissect, geodesic, haar_rotation
from intertwine.features import features
from intertwine.groups import ScalarGroup
from intertwine.similarity import MEASURES, cka, compare, null
from intertwine.similarity.blocks import Blocks
from intertwine.similarity.grams import gram
from intertwine.stitching import (
    KINDS,
    STITCH_RECIPES,
    Birkhoff,
    Full,
    Junction,
    Ladder,
    Rung,
    Stitch,
    climb,
    stitch_at,
)
from intertwine.stitching.maps import options_of
from intertwine.training import evaluate, train
from intertwine.weightspace import find_symmetries
from intertwine_book import data, models
from intertwine_book.origin import environment
from intertwine_book.zoo import RECIPES, Spec, many, train_many

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU"),
]
DEVICES = ("cpu", "cuda")
SHORT = replace(RECIPES["digits"], epochs=1)


@pytest.fixture(scope="module")
def digits():
    return data.load("digits", "train", device="cuda")[:300]


@pytest.fixture(scope="module")
def pair(digits):
    spec = Spec("myrtle", digits, SHORT, {"width": 4, "in_channels": 1})
    return [each.network for each in train_many(spec, [0, 1], device="cuda")]


def test_a_picked_device_is_named_as_its_tensors_name_it():
    assert devices.pick("cuda") == devices.pick("auto") == torch.ones(1, device="cuda").device


def test_convolutions_have_all_bits_of_float32():
    x, w, device = normal64(4, 16, 9, 9).float(), normal64(8, 16, 3, 3).float(), devices.pick("cuda")
    here, there = F.conv2d(x, w), F.conv2d(x.to(device), w.to(device)).cpu()
    assert (here - there).abs().max() <= 2e-6 * here.abs().max()


def test_a_training_in_float32_has_all_bits_too(digits):
    network = models.myrtle(4, in_channels=1, seed=0)
    recipe = replace(SHORT, dtype="float32")
    one, two = (train(network, digits, recipe, seed=1, device=device) for device in ("cpu", "cuda"))
    assert (one.history["loss"] - two.history["loss"]).abs().max() < 1e-4


def test_networks_that_are_trained_at_once_are_those_of_the_cpu(digits):
    recipe = replace(
        RECIPES["godfrey2022"], epochs=3, batch_size=64, dtype="float32"
    )  # 4 steps and a smaller one
    spec = Spec("myrtle", digits, recipe, {"width": 4, "in_channels": 1})
    here = train_many(spec, [0, 1], device="cpu")
    there = many._at_once(spec, [(0, 0), (1, 1)], torch.device("cuda", 0), progress=False)
    for one, two in zip(here, there, strict=True):
        assert [*one.history] == [*two.history] and one.history["lr"].equals(two.history["lr"])
        assert (one.history["loss"] - two.history["loss"]).abs().max() < 1e-4
        assert (one.history["accuracy"] - two.history["accuracy"]).abs().max() <= 2 / len(digits)


@pytest.mark.parametrize("name", ["csiszarik2021", "godfrey2022"])
def test_a_ladder_is_that_of_the_cpu(pair, digits, name):
    recipe = replace(STITCH_RECIPES[name], epochs=2, batch_size=64, shift=1, lr=1e-2)
    found = []
    for device in DEVICES:
        draw = torch.Generator().manual_seed(0)
        rungs = {
            k: Rung(f"relu{k}", Full(Full.draw((n, n), draw).weight), recipe) for k, n in ((1, 4), (3, 16))
        }
        group = replace(recipe, lr=0.1)
        rungs["group"] = Rung("relu2", Birkhoff(8, generator=draw), group)
        how = {"seed": 0, "device": device, "dtype": "float32"}
        found.append(climb([Ladder(*pair, rungs, digits, digits, **how)])[0][-1])
    for key in found[0]:
        assert found[1][key]["loss"] == pytest.approx(found[0][key]["loss"], rel=1e-3)


def test_boolean_masks_are_coded_and_dissected_there():
    planes, maps = normal64(6, 5, 9, 7) > 1, normal64(6, 4, 4, 4, seed=1)
    assert torch.equal(Masks.of(planes.cuda()).planes().cpu(), planes)
    assert torch.equal(Masks.of(planes.cuda()).areas().cpu(), Masks.of(planes).areas())
    Q = haar_rotation(4, torch.Generator().manual_seed(0))
    turned = {"quantile": 0.1, "rotation": Q}
    here, there = (dissect(maps.to(at), planes.to(at), **turned) for at in ("cpu", "cuda"))
    assert there.both.device.type == "cuda" and (here.both - there.both.cpu()).abs().max() <= 1
    here.units(), there.units(), there.concepts()
    shuffled = Masks.of(planes.cuda()).shuffled(torch.Generator().manual_seed(0))
    assert torch.equal(shuffled.areas().cpu(), Masks.of(planes).areas())


def test_rotations_come_from_generators_of_either_device():
    for device in ("cpu", "cuda"):
        Q = haar_rotation(5, torch.Generator(device).manual_seed(0))
        assert Q.device.type == device and torch.allclose(geodesic(Q.cuda(), 1.0), Q.cuda())


@pytest.mark.parametrize("drawn", DEVICES)
@pytest.mark.parametrize("lies", DEVICES)
def test_planes_are_drawn_by_generators_of_either_device(drawn, lies):
    made = genni.random_plane(torch.ones(5, device=lies), 2, generator=torch.Generator(drawn).manual_seed(0))
    assert made.basis.device.type == lies
    assert torch.allclose(made.basis @ made.basis.T, torch.eye(2).to(made.basis))


def test_images_and_network_may_lie_on_different_devices():
    network, images = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), normal64(9, 3).float()
    wanted = network(images)
    for own, other in (("cpu", "cuda"), ("cuda", "cpu")):
        (found,) = features(network.to(own), ["1"], images.to(other))
        assert found["1"].device.type == own and torch.allclose(found["1"].cpu(), wanted.cpu(), atol=1e-6)


def test_random_starts_and_trainings_leave_the_generators_alone(digits):
    line, network = nn.Linear(3, 2), models.myrtle(2, in_channels=1)
    states = torch.get_rng_state(), torch.cuda.get_rng_state()
    genni.random_starts(line, 2, generator=torch.Generator().manual_seed(0))
    train(network, digits, SHORT, seed=0, device="cuda")
    find_symmetries(network.cuda().eval(), digits.images[:1])
    for before, after in zip(states, (torch.get_rng_state(), torch.cuda.get_rng_state()), strict=True):
        assert torch.equal(before, after)


def test_the_nearest_scalar_of_a_discrete_group():
    a = normal64(20)
    group = ScalarGroup("discrete", generator=-2.0)
    assert torch.equal(group.nearest(a.cuda()).cpu(), group.nearest(a))


def test_a_network_on_the_device_is_not_copied_there(pair, digits):
    blocks = Blocks(
        (pair[0], ["relu1"]), (pair[1], ["relu2"]), digits.images, None, memory=2**30, device="cuda"
    )
    assert [side[0] for side in blocks._sides] == pair


@pytest.mark.parametrize("measure", MEASURES)
def test_layers_compare_as_on_the_cpu(pair, digits, measure):
    """By every measure, of layers and of two matrices of features."""
    layers, images = ["relu1", "relu3"], digits.images[:60]
    there = compare(*pair, layers, images, measure, device="cuda")
    pair = [copy.deepcopy(network).cpu() for network in pair]
    here = compare(*pair, layers, images.cpu(), measure, device="cpu")
    assert abs(there - here).max().max() < 1e-4
    X, Y = normal64(30, 5), normal64(30, 5, seed=1)
    one, two = (float(MEASURES[measure](X.to(device), Y.to(device))) for device in ("cpu", "cuda"))
    assert abs(one - two) < 1e-9


def test_nulls_are_those_of_the_cpu():
    draws = [torch.Generator().manual_seed(0) for _ in "12"]
    X, Y = normal64(30, 5), normal64(30, 5, seed=1)
    for kind in ("shuffle", "gaussian"):
        asked = zip(DEVICES, draws, strict=True)
        one, two = (null(cka, X.to(d), Y.to(d), kind, 2, generator=draw) for d, draw in asked)
        assert torch.allclose(one.values, two.values)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "max"])
def test_gram_matrices_are_those_of_the_cpu(kernel):
    X = normal64(20, 5)
    assert torch.allclose(gram(X, kernel), gram(X.cuda(), kernel).cpu())


def test_memory_of_the_device_is_recorded():
    assert "peak_device_memory_bytes" in environment(
        "cuda"
    ) and "peak_device_memory_bytes" not in environment("cpu")


def test_a_stitch_is_judged_as_networks_are(pair, digits):
    """Whatever the precision of training: between a network and itself the identity costs nothing at all."""
    junction = Junction(pair[0], pair[0], "relu2", digits, test=digits, device="cuda", dtype="bfloat16")
    same = stitch_at(junction, "identity")
    assert same.evaluate(digits) == evaluate(pair[0], digits.images, digits.labels)
    assert junction.judge(same).accuracy == same.evaluate(digits)


@pytest.mark.parametrize("kind", KINDS)
def test_stitches_are_made_and_trained_there(pair, digits, kind):
    junction = Junction(*pair, "relu2", digits, test=digits, device="cuda", dtype="float32")
    values = {"rank": 2, "alpha": 0.1}
    options = {name: values[name] for name in options_of(KINDS[kind]) if name in values}
    recipe = replace(STITCH_RECIPES["digits"], epochs=1)
    if hasattr(KINDS[kind], "fit") or not issubclass(KINDS[kind], Stitch):
        assert stitch_at(junction, kind, **options).evaluate(digits) >= 0
    if issubclass(KINDS[kind], Stitch):
        for batch_norm in ("frozen", "reestimated"):
            made = stitch_at(junction, kind, recipe=recipe, batch_norm=batch_norm, **options)
            assert made.stitch.weight.is_cuda


def test_an_element_acts_there(pair, digits):
    space = find_symmetries(pair[0], digits.images[:1])
    moved = space.act(pair[0], space.sample(torch.Generator().manual_seed(0)))
    gap = moved(digits.images) - pair[0](digits.images)
    assert gap.abs().max() < 1e-3 * pair[0](digits.images).abs().max()


def test_alignments_of_activations_there():
    A, B = normal64(50, 4), normal64(50, 4, seed=1)
    here, there = (alignment.Statistics.of(A.to(d), B.to(d)) for d in ("cpu", "cuda"))
    for name in ("least_squares", "orthogonal", "permutation", "g_relu"):
        one, two = (getattr(alignment, name)(each).weight.cpu() for each in (here, there))
        assert torch.allclose(one, two, atol=1e-9)
