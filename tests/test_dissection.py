"""Dissection: exact against a direct computation, known detectors found, ceilings and nulls as stated."""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from intertwine.data import Masks
from intertwine.dissection import (
    dissect,
    examples,
    geodesic,
    haar_rotation,
)
from intertwine.dissection.levels import pixel_levels, top_quantile
from intertwine.dissection.upsampling import cells_around, stretched
from intertwine_book.data import scenes


def draw(n, units, concepts, small, large, seed, density=0.2):
    """Random maps, and masks in blobs."""
    g = torch.Generator().manual_seed(seed)
    maps = torch.randn(n, units, *small, generator=g)
    blobs = F.interpolate(torch.rand(n, concepts, 3, 3, generator=g), size=large, mode="nearest")
    return maps, blobs < density


def weights(size, pixels):
    """Row by row, what each number of a map contributes to a pixel: bilinear, pixel centres at halves."""
    rows = np.full((pixels, size), Fraction(0))
    for y in range(pixels):
        place = min(max(Fraction(2 * y + 1, 2) * size / pixels - Fraction(1, 2), 0), size - 1)
        low = int(place)
        rows[y, low] += 1 - (place - low)
        rows[y, min(low + 1, size - 1)] += place - low
    return rows


def enlarged(maps, height, width):
    """The maps at every pixel, times 4·height·width, from all of their cells."""
    vertical, horizontal = stretched(maps.shape[2], height), stretched(maps.shape[3], width)
    cells = cells_around(maps.double(), torch.ones_like(maps, dtype=torch.bool), vertical, horizontal)
    made = torch.full((*maps.shape[:2], height + 1, width + 1), float("nan"), dtype=torch.float64)
    y, x = vertical.pixels[cells.row][:, :, None], horizontal.pixels[cells.column][:, None]
    made[cells.image[:, None, None], cells.unit[:, None, None], y, x] = cells.sums
    return made[..., :-1, :-1]  # without the margin


def direct(maps, planes, quantile, equal_area=False):
    """Unit by unit, image by image, in exact arithmetic: intersections, unions, levels by the definition."""
    n, units, *small = maps.shape
    both = torch.zeros(units, planes.shape[1], dtype=torch.int64)
    either, levels = both.clone(), []
    down, along = (weights(a, b) for a, b in zip(small, planes.shape[2:], strict=True))
    for u in range(units):
        exact = [np.array([[Fraction(x) for x in row] for row in each[u].tolist()]) for each in maps]
        large = [down @ each @ along.T for each in exact]
        numbers = np.sort(np.concatenate(large if equal_area else exact, axis=None))[::-1]
        levels.append(float(numbers[int(quantile * len(numbers) + 1e-6)]))
        for k in range(n):
            on = torch.from_numpy((large[k] > numbers[int(quantile * len(numbers) + 1e-6)]).astype(bool))
            both[u] += (on & planes[k]).sum((1, 2))
            either[u] += (on | planes[k]).sum((1, 2))
    return both, either, torch.tensor(levels)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 5),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.floats(0.3, 4),
    st.sampled_from([0.005, 0.1, 0.29, 0.6]),
    st.sampled_from(["normal", "relu", "few values"]),
    st.booleans(),
    st.integers(0, 999),
)
def test_dissect_agrees_exactly_with_the_definition(n, units, concepts, small, scale, q, kind, area, seed):
    large = tuple(max(1, round(scale * side)) for side in small)
    maps, planes = draw(n, units, concepts, small, large, seed)
    maps = {"normal": maps, "relu": maps.relu(), "few values": maps.round()}[kind]
    found = dissect(maps, planes, quantile=q, equal_area=area)
    both, either, levels = direct(maps, planes, q, area)
    assert torch.equal(found.levels, levels.float())
    assert torch.equal(found.both, both)
    expected = torch.where(either > 0, both.double() / either.clamp(min=1), 0.0)
    assert torch.equal(found.iou, expected)
    assert found.pixels == planes[:, 0].numel()


def test_upsampling_to_every_third_pixel_is_every_third_of_the_upsampled():
    maps, _ = draw(3, 2, 1, (5, 4), (1, 1), seed=11)
    large = enlarged(maps, 18, 24) / (4 * 18 * 24)
    torch.testing.assert_close(enlarged(maps, 6, 8) / (4 * 6 * 8), large[..., 1::3, 1::3])


def test_units_of_equal_area_select_as_many_pixels_whatever_their_maps_are():
    maps, planes = draw(30, 4, 4, (4, 5), (16, 21), seed=7)
    sharp = maps.exp() ** torch.tensor([0.1, 1, 3, 9])[:, None, None]  # the sharper, the higher the peaks
    found, usual = (dissect(sharp, planes, quantile=0.02, equal_area=each) for each in (True, False))
    # at a border some pixels have equal values
    assert ((found.selected - found.pixels * 0.02).abs() <= 6).all()
    assert (usual.selected.diff() > 0).all() and usual.selected[0] < found.pixels * 0.02 < usual.selected[-1]


def test_upsampling_is_torch_s():
    maps, _ = draw(3, 2, 1, (5, 4), (1, 1), seed=11)
    ours = np.einsum("yi,nuij,xj->nuyx", weights(5, 13), maps.double().numpy(), weights(4, 9))
    theirs = F.interpolate(maps.double(), size=(13, 9), mode="bilinear", align_corners=False)
    assert np.allclose(ours.astype(float), theirs.numpy(), atol=1e-12)
    assert np.allclose(enlarged(maps, 13, 9) / (4 * 13 * 9), theirs.numpy(), atol=1e-12)


def test_a_unit_that_is_a_mask_is_found_with_iou_1():
    _, planes = draw(30, 1, 6, (8, 8), (8, 8), seed=0, density=0.1)
    order = [4, 0, 5, 2]
    maps = planes[:, order].float() * torch.tensor([0.3, 7.0, 1e-6, 1e6])[:, None, None] - 3
    share = planes[:, order].float().mean().item()
    table = dissect(maps, planes, quantile=2 * share).units()
    assert table["iou"].tolist() == [1.0] * 4
    assert table["concept"].tolist() == [str(k) for k in order] and table["above_threshold"].all()


def test_planted_detectors_at_a_quarter_of_the_resolution():
    _, planes = draw(40, 1, 5, (4, 4), (4, 4), seed=1, density=0.1)
    large = planes.repeat_interleave(4, 2).repeat_interleave(4, 3)
    found = dissect(planes.float(), large, quantile=0.3)
    assert (found.iou.argmax(1) == torch.arange(5)).all()


def test_a_rotation_of_the_units_is_a_rotation_of_the_maps():
    maps, planes = draw(6, 5, 4, (4, 4), (9, 7), seed=2)
    Q = geodesic(haar_rotation(5, torch.Generator().manual_seed(0)), 0.4).float()
    turned = torch.einsum("ij,njhw->nihw", Q, maps)
    a, b = dissect(maps, planes, quantile=0.1, rotation=Q), dissect(turned, planes, quantile=0.1)
    torch.testing.assert_close(a.levels, b.levels)
    assert (a.both - b.both).abs().max() <= 1  # a pixel on the edge, by the rounding of the products
    permutation = torch.eye(5)[[2, 0, 4, 1, 3]]
    own = dissect(maps, planes, quantile=0.1)
    moved = dissect(maps, planes, quantile=0.1, rotation=permutation)
    assert torch.equal(moved.iou, own.iou[[2, 0, 4, 1, 3]])


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 999), st.floats(0.01, 100), st.floats(-5, 5))
def test_a_positive_scale_and_a_shift_of_a_unit_change_nothing(seed, scale, shift):
    maps, planes = draw(5, 3, 4, (4, 4), (8, 8), seed)
    maps = maps.double()
    a = dissect(maps, planes, quantile=0.1)
    assert torch.equal(a.both, dissect(maps * scale + shift, planes, quantile=0.1).both)


def test_streams_give_what_a_tensor_gives():
    maps, planes = draw(11, 4, 3, (5, 5), (10, 10), seed=3)
    for size in (1, 3, 11):
        streamed = dissect(lambda size=size: iter(maps.split(size)), planes, quantile=0.05)
        whole = dissect(maps, planes, quantile=0.05)
        gaps = dissect(lambda size=size: [maps[:0], *maps.split(size), maps[:0]], planes, quantile=0.05)
        assert torch.equal(gaps.both, whole.both)  # an empty batch says nothing
        assert torch.equal(streamed.both, whole.both) and torch.equal(streamed.levels, whole.levels)


def test_a_share_that_is_a_whole_number_of_numbers_but_for_rounding_is_exceeded_by_as_many():
    assert 0.29 * 100 < 29
    maps = torch.arange(100.0).view(1, 1, 1, 100)
    assert top_quantile([maps], 0.29, 1) == pixel_levels([maps], 0.29, 1, 1, 100)[0] == 70


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 60), st.floats(0.001, 0.999), st.booleans(), st.integers(0, 999))
def test_at_most_the_share_exceeds_a_level_and_any_lower_value_has_more(n, q, ties, seed):
    maps = torch.randn(n, 2, 2, 3, generator=torch.Generator().manual_seed(seed))
    maps = maps.round() if ties else maps
    levels = top_quantile(maps.split(7), q, n)
    numbers = maps.transpose(0, 1).flatten(1)
    assert ((numbers > levels[:, None]).double().mean(1) <= q + 1e-9).all()
    assert ((numbers >= levels[:, None]).double().mean(1) > q - 1e-9).all()
    assert (numbers == levels[:, None]).any(1).all()


def test_no_unit_exceeds_the_ceiling_of_what_it_selects():
    maps, planes = draw(20, 6, 8, (6, 6), (12, 12), seed=4, density=0.4)
    for q in (0.005, 0.05, 0.4):
        found = dissect(maps, planes, quantile=q)
        share, area = found.selected / found.pixels, found.covered / found.pixels
        ceiling = torch.minimum(share[:, None], area) / torch.maximum(share[:, None], area)
        assert (found.iou <= ceiling + 1e-12).all()
    perfect = dissect(planes.float(), planes, quantile=planes.float().mean().item() * 1.2).concepts()
    assert np.allclose(perfect["iou"], 1)


def test_at_the_papers_setting_no_concept_of_more_than_an_eighth_can_count():
    planes = torch.zeros(40, 2, 10, 10, dtype=torch.bool)
    planes[:, 0, :2], planes[:, 1, :, :1] = True, True  # 20 % and 10 % of the pixels
    table = dissect(planes.float(), planes, quantile=0.005).concepts()
    assert table["ceiling"].round(3).tolist() == [0.025, 0.05]
    assert (table["ceiling"] > 0.04).tolist() == [False, True]


def test_tables_count_units_and_concepts():
    _, planes = draw(30, 1, 4, (8, 8), (8, 8), seed=5, density=0.1)
    masks = Masks.of(planes, ["red", "green", "disc", "ring"], ["colour", "colour", "shape", "shape"])
    found = dissect(planes[:, [0, 0, 3]].float(), masks, quantile=0.4)
    assert found.units()["concept"].tolist() == ["red", "red", "ring"]
    assert found.concepts()["units"].tolist() == [2, 0, 0, 1]
    assert found.concepts()["area"].tolist() == masks.areas().tolist()


def test_one_name_in_two_categories_is_two_concepts():
    _, planes = draw(30, 1, 2, (8, 8), (8, 8), seed=5, density=0.1)
    maps = planes[:, [0, 1, 1]].float()
    found = dissect(maps, Masks.of(planes, ["orange", "orange"], ["colour", "object"]), quantile=0.4)
    assert found.concepts()["units"].tolist() == [1, 2]
    assert [each.unit for each in examples(maps, found, (8, 8))] == [0, 1]


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 999), st.floats(0, 1))
def test_a_unit_is_above_the_threshold_where_its_best_iou_is(seed, level):
    maps, planes = draw(5, 3, 4, (4, 4), (8, 8), seed)
    best = dissect(maps, planes, quantile=0.3).best
    for iou in (level, best[0].item()):  # a unit at the threshold is not above it
        found = dissect(maps, planes, quantile=0.3, iou=iou)
        assert found.units()["above_threshold"].tolist() == (best > iou).tolist()


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 999),
    sizes=st.sampled_from([((4, 4), (8, 8)), ((8, 8), (8, 8)), ((3, 2), (13, 9))]),
    kind=st.sampled_from([torch.relu, torch.round, lambda maps: maps.round() / 10, torch.Tensor.double]),
    equal_area=st.booleans(),
)
def test_examples_select_what_was_counted_though_much_is_exactly_at_the_level(seed, sizes, kind, equal_area):
    maps, planes = draw(6, 3, 4, *sizes, seed)
    maps = kind(maps)
    found = dissect(maps, planes, quantile=0.6, equal_area=equal_area)  # the level of a ReLU is 0
    for each in examples(maps, found, sizes[1], units=range(3), images=6):
        on = torch.empty_like(each.selected)
        on[each.images] = each.selected
        assert on.sum() == found.selected[each.unit]
        concept = planes[:, int(each.concept)]
        assert ((on & concept).sum() / (on | concept).sum()).item() == pytest.approx(each.iou)
        most = on.sum((1, 2)).tolist()
        assert each.images.tolist() == sorted(range(6), key=lambda k: -most[k])  # the first first, if equal


@pytest.mark.parametrize("equal_area", [False, True])
def test_examples_of_turned_units_select_what_was_counted_and_other_maps_are_refused(equal_area):
    maps, planes = draw(60, 5, 4, (4, 4), (8, 8), seed=3)
    Q = haar_rotation(5, torch.Generator().manual_seed(0))
    found = dissect(maps, planes, quantile=0.1, rotation=Q, equal_area=equal_area)
    for each in examples(maps, found, (8, 8), units=range(5), images=60, rotation=Q):
        assert each.selected.sum() == found.selected[each.unit]
    with pytest.raises(ValueError, match=r"and the rotation if .* unit 2 selects \d+ pixels"):
        examples(maps, found, (8, 8), units=[2])


def test_what_selects_nothing_is_no_example_of_a_concept():
    _, planes = draw(30, 1, 4, (8, 8), (8, 8), seed=5, density=0.1)
    maps = torch.cat([planes[:, 2:3].float(), torch.zeros(30, 1, 8, 8)], 1)
    found = dissect(maps, planes, quantile=0.4)
    assert [each.unit for each in examples(maps, found, (8, 8))] == [0]
    assert not examples(maps, found, (8, 8), units=[1])[0].selected.any()  # asked for by number


def test_a_second_detector_of_a_concept_takes_no_place_of_another_concept():
    noise, planes = draw(30, 1, 4, (8, 8), (8, 8), seed=5, density=0.1)
    maps = torch.cat([noise, planes[:, [2, 2, 0]].float()], 1)
    found = dissect(maps, planes, quantile=0.4)
    assert [each.unit for each in examples(maps, found, (8, 8), units=2)] == [1, 3]  # the best, of each one
    assert [each.unit for each in examples(maps, found, (8, 8), units=[3, 0])] == [3, 0]  # as asked


def test_masks_of_other_images_are_a_null():
    _, planes = draw(200, 1, 4, (8, 8), (8, 8), seed=6, density=0.15)
    masks = Masks.of(planes, list("abcd"))
    shuffled = masks.shuffled(torch.Generator().manual_seed(0))
    assert dissect(planes.float(), masks, quantile=0.3).best.min() == 1
    assert dissect(planes.float(), shuffled, quantile=0.3).best.max() < 0.3


def test_known_detectors_lose_their_concepts_under_a_rotation_and_noise_does_not():
    _, planes = draw(150, 1, 8, (8, 8), (8, 8), seed=7, density=0.15)
    masks = Masks.of(planes, list("abcdefgh"))
    noise = torch.randn(planes.shape, generator=torch.Generator().manual_seed(1))
    Q = haar_rotation(8, torch.Generator().manual_seed(0))
    for equal_area in (False, True):
        own, turned, before, after = (
            dissect(units, masks, quantile=0.1, rotation=rotation, equal_area=equal_area).best
            for units in (planes.float() + 0.01 * noise, noise)
            for rotation in (None, Q)
        )
        assert own.min() > 0.6 and own.mean() > turned.mean() + 0.15
        assert abs(before.mean() - after.mean()) < 0.01


def test_scenes_are_dissected_by_their_own_pixels():
    data, masks = scenes(60, seed=2)
    red, green, blue = (data.images * data.std + data.mean).unbind(1)
    units = torch.stack([red - green - blue, green - red - blue, blue - red - green], 1)
    table = dissect(units, masks, quantile=0.1).units()
    assert table["concept"].tolist() == ["red", "green", "blue"] and (table["iou"] > 0.3).all()


@pytest.mark.parametrize("area", [False, True])
def test_a_map_of_rounded_size_fits_and_one_of_another_aspect_does_not(area):
    _, masks = draw(4, 2, 3, (1, 1), (18, 24), seed=0)
    for rows, fits in ((2, True), (3, True), (1, False), (4, False)):  # of 2.25, where the stride is 8
        maps = torch.rand(4, 2, rows, 3, generator=torch.Generator().manual_seed(0))
        with nullcontext() if fits else pytest.raises(ValueError, match=f"was given maps {rows} × 3"):
            dissect(maps, masks, quantile=0.1, equal_area=area)


def test_equal_areas_are_as_exact_for_units_in_float64():
    maps, masks = draw(6, 3, 4, (1, 1), (6, 6), 0)  # one number a map: 36 equal pixels
    one, other = (dissect(units, masks, quantile=0.1, equal_area=True) for units in (maps, maps.double()))
    assert torch.equal(one.selected, other.selected) and (one.selected <= 0.1 * one.pixels).all()
