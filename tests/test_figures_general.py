"""Dots, curves, scatters, forests and matrices draw what their tables say; colours can be told apart."""

import numpy as np
import pandas as pd
import pytest

from intertwine.shallow import ShallowReLU
from intertwine_book.figures.curves import mean_curves, single_curves
from intertwine_book.figures.dots import dots
from intertwine_book.figures.labels import apart
from intertwine_book.figures.matrices import heatmap
from intertwine_book.figures.readable import LONG, readable
from intertwine_book.figures.scatter import scatter
from intertwine_book.figures.shallow import folded_planes, hidden_counts
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS
from intertwine_book.intervals import interval

many = pd.DataFrame(
    [
        {"layer": layer, "stitch": stitch, "pair": pair, "penalty": float(layer * pair + (stitch == "full"))}
        for layer in (3, 6, 10)
        for stitch in ("full", "rank 1")
        for pair in range(4)
    ]
)
TWO = {"colours": {"full": "#D55E00", "rank 1": "#0072B2"}, "xlabel": "layer", "ylabel": "penalty"}
rings = pd.DataFrame({"layer": [6], "pair": 1, "stitch": "full", "penalty": 7.0, "spread": 1.0})
stitches = pd.DataFrame({"way": ["a", "a", "b"], "cka": [1.0, 0.9, 0.6], "accuracy": [9.0, 20.0, 80.0]})
half = pd.DataFrame({"epoch": [0, 1, 0, 1], "name": "a", "trial": [0, 0, 1, 1], "value": [1.0, 3, 2, 6]})
both = pd.concat([half.assign(of="above"), half.assign(of="below", value=0.5)])
BELOW = {"xlabel": "epoch", "panels": "of", "across": 1, "colours": {"a": "#D55E00", "b": "#0072B2"}}
AXES = {"xlabel": "CKA", "ylabel": "accuracy", "colours": {"a": "#D55E00", "b": "#0072B2"}}
one = pd.DataFrame({"way": ["b"], "cka": 0.7, "accuracy": 87.0})
blocks = pd.DataFrame(
    [
        {"of": m, "pair": p, "row": a, "column": b, "value": (i + 10 * j + 100 * p) / 300, "best": i == j}
        for m in ("G_ReLU-CKA", "linear CKA")
        for p in range(2)
        for i, a in enumerate([3, 6, 10, 14])
        for j, b in enumerate([3, 6, 10, 14])
    ]
)
CELLS = {"panels": "of", "limits": (0.0, 1.0), "label": "similarity", "digits": ".2f"}
curves = pd.DataFrame(
    [
        {
            "layer": layer,
            "weights": weights,
            "network": n,
            "block": block,
            "alpha": alpha,
            "iou": n - alpha + block,
        }
        for layer in ("behind", "linear")
        for weights in ("trained", "untrained")
        for n in range(3)
        for block in (1, 2)
        for alpha in (0.0, 0.5, 1.0)
    ]
)
LINES = {"panels": "layer", "xlabel": "α", "ylabel": "IoU, %"}
LINES["colours"] = {"trained": "#0072B2", "untrained": "#7A7A7A"}
FIGURES = {
    "scatter": lambda: scatter(stitches, "cka", "accuracy", "way", level=87.0, printed=one, **AXES),
    "scatter with names in it": lambda: scatter(
        stitches, "cka", "accuracy", "way", places={"a": (0.9, 10.0), "b": (0.6, 70.0)}, **AXES
    ),
}


def test_trials_are_dots_beside_their_mean_and_what_is_printed_is_a_ring():
    axes = dots(many, "layer", "penalty", "stitch", panels="pair", **TWO, beside={"printed": rings}).axes
    assert [axis.get_title() for axis in axes] == ["0", "1", "2", "3"]
    (axis,) = dots(many, "layer", "penalty", "stitch", **TWO).axes
    heights = [line.get_ydata().tolist() for line in axis.lines]
    assert [5.5, 10.0, 16.0] in heights and [4.5, 9.0, 15.0] in heights
    single = [line for line in heights if len(line) == 12]
    assert sorted(single[0]) == sorted(many.query("stitch == 'full'")["penalty"])
    assert [axes[k].containers != [] for k in range(4)] == [False, True, False, False]
    assert axes[1].containers[0].lines[0].get_ydata() == [7.0]
    assert [text.get_text() for text in axis.texts] == ["full", "rank 1"]


def test_panels_of_dots_have_one_scale_on_which_all_of_them_are_seen():
    axes = dots(many, "layer", "penalty", "stitch", panels="pair", **TWO).axes
    assert len({axis.get_ylim() for axis in axes}) == 1
    low, high = axes[0].get_ylim()
    assert low < many["penalty"].min() and high > many["penalty"].max()


def test_nulls_have_marks_of_their_own_at_their_means_in_their_panel():
    nulls = {"shuffled": many.assign(penalty=-1.0).query("pair == 1"), "untrained": many.query("pair == 2")}
    figure = dots(many, "layer", "penalty", "stitch", panels="pair", nulls=nulls, **TWO)
    marks = [[(line.get_marker(), *line.get_ydata()) for line in axis.lines] for axis in figure.axes]
    assert ("_", -1.0, -1.0, -1.0) in marks[1] and ("^", 7.0, 13.0, 21.0) in marks[2]
    assert not {"_", "^"} & {mark for mark, *values in marks[0] + marks[3] if values}
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["measured", "shuffled", "untrained"]


@pytest.mark.parametrize(("option", "most"), [("beside", 4), ("nulls", 3)])
def test_every_table_is_drawn_and_named_or_refused(option, most):
    tables = {f"table {k}": many.assign(penalty=-k) for k in range(1, most + 1)}
    figure = dots(many, "layer", "penalty", "stitch", **{option: tables}, **TWO)
    means = [line for line in figure.axes[0].lines if set(line.get_ydata()) <= set(range(-most, 0))]
    drawn = {(line.get_marker(), *line.get_ydata()) for line in means if len(line.get_ydata())}
    assert len(drawn) == most == len({mark for mark, *_ in drawn})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["measured", *tables]
    with pytest.raises(ValueError, match=f"at most {most} tables as {option}, .* given {most + 1}: draw"):
        dots(many, "layer", "penalty", "stitch", **{option: tables | {"one more": many}}, **TWO)


def test_labels_are_moved_apart_no_more_than_needed():
    assert apart([1.0, 0.0, 3.0], 0.5) == [1.0, 0.0, 3.0]
    found = apart([1.0, 1.0, 1.2, 5.0], 0.5)
    assert np.allclose(np.diff(found[:3]), 0.5) and np.isclose(np.mean(found[:3]), 3.2 / 3) and found[3] == 5


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_names_stand_where_their_curves_end(scale):
    (axis,) = single_curves(many, "layer", "penalty", "stitch", "pair", yscale=scale, **TWO).axes
    ends = many[many["layer"] == 10].groupby("stitch")["penalty"].mean()
    at = {text.get_text(): axis.transAxes.transform(text.xy)[1] for text in axis.texts}
    for name, end in ends.items():
        assert abs(at[name] - axis.transData.transform((10, end))[1]) < 0.2 * axis.figure.dpi  # one line


def test_the_panels_above_and_below_have_every_trial_their_mean_and_a_line():
    upper, lower = single_curves(both, "epoch", "value", "name", "trial", level={"below": 0.7}, **BELOW).axes
    heights = [line.get_ydata().tolist() for line in upper.lines]
    assert heights == [[1.0, 3.0], [2.0, 6.0], [1.5, 4.5]]
    assert lower.lines[-1].get_ydata() == [0.7, 0.7] and upper.get_xlim() == lower.get_xlim()
    assert [axis.get_ylabel() for axis in (upper, lower)] == ["above", "below"]
    assert [text.get_text() for text in upper.texts] == ["a"]  # there is no curve of b


def test_a_frame_marks_the_cells_that_are_outlined_in_their_panel():
    framed = blocks.assign(best=(blocks["of"] == "linear CKA") & (blocks["row"] == 6))
    left, right, _ = heatmap(framed, "row", "column", "value", outlined="best", **CELLS).axes
    assert not left.patches
    assert [(round(p.get_x()), round(p.get_y())) for p in right.patches] == [(k, 1) for k in range(4)]


def test_matrices_show_means_with_rows_down_and_columns_across():
    left, right, bar = heatmap(blocks, "row", "column", "value", **CELLS).axes
    assert [axis.get_title() for axis in (left, right)] == ["$G_{\\mathrm{ReLU}}$-CKA", "linear CKA"]
    shown = left.collections[0].get_array()
    assert np.isclose(shown[1, 2], (1 + 20 + 50) / 300) and np.isclose(shown[2, 1], (2 + 10 + 50) / 300)
    assert left.texts[6].get_text() == f"{shown[1, 2]:.2f}"
    assert left.collections[0].get_clim() == right.collections[0].get_clim() == (0, 1)
    assert bar.get_ylabel() == "similarity"
    many_cells = pd.concat(blocks.assign(column=blocks["column"] + 20 * k) for k in range(3))
    assert not heatmap(many_cells, "row", "column", "value", **CELLS).axes[0].texts
    part = blocks.query("row != 3 and column < 10")
    assert heatmap(part, "row", "column", "value", **CELLS).axes[0].collections[0].get_array().shape == (3, 2)


def test_every_row_is_a_dot_and_what_is_printed_a_ring():
    axis = FIGURES["scatter"]().axes[0]
    drawn = {(x, y) for line in axis.lines for x, y in zip(*line.get_data(), strict=True)}
    assert {(1.0, 9.0), (0.9, 20.0), (0.6, 80.0), (0.7, 87.0)} <= drawn
    (ring,) = (line for line in axis.lines if line.get_mfc() == "none" and len(line.get_xdata()) == 1)
    assert ring.get_ydata().tolist() == [87.0]
    words = FIGURES["scatter with names in it"]().axes[0].texts
    assert [(text.get_text(), text.get_position()) for text in words] == [("a", (0.9, 10)), ("b", (0.6, 70))]


def test_printed_values_are_rings_at_their_own_height_and_means_carry_intervals():
    measured = pd.DataFrame({"layer": [3, 3, 6, 6], "way": "full", "penalty": [1.0, 3.0, 5.0, 5.0]})
    printed = pd.DataFrame({"layer": [3, 6], "way": "full", "penalty": [10.0, 20.0]})
    labels = {"xlabel": "layer", "ylabel": "points", "colours": {"full": "#D55E00"}}
    options = labels | {"beside": {"printed": printed}, "intervals": True}
    (axis,) = dots(measured, "layer", "penalty", "way", **options).axes
    drawn = [list(line.get_ydata()) for line in axis.lines]
    assert [10, 20] in drawn and [2, 5] in drawn
    (bars,) = (c for c in axis.collections if len(c.get_segments()) == 2)
    assert [tuple(bar[:, 1]) for bar in bars.get_segments()] == [interval(measured["penalty"][:2]), (5, 5)]
    means = measured.groupby(["layer", "way"], as_index=False).mean()
    three = pd.concat([measured, means])
    (axis,) = dots(printed, "layer", "penalty", "way", **labels, beside={"ours": three}).axes
    (bars,) = (c for c in axis.collections if len(c.get_segments()) == 2)
    assert [list(line.get_ydata()) for line in axis.lines].count([2, 5]) == 1
    assert np.allclose(bars.get_segments()[0][:, 1], interval(three.query("layer == 3")["penalty"]))
    (axis,) = dots(printed, "layer", "penalty", "way", **labels, beside={"ours": measured}).axes
    assert not axis.collections  # of two trials the interval is twelve times their deviation
    wide = measured.assign(penalty=[2.0, 2.0, 40.0, 50.0])
    options["beside"] = options["beside"] | {"width 64": wide}
    figure = dots(measured, "layer", "penalty", "way", **options)
    (axis,) = figure.axes
    squares = [list(line.get_ydata()) for line in axis.lines if line.get_marker() == "s"]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert squares == [[2, 45]] and named == ["measured", "printed", "width 64"]
    with pytest.raises(ValueError, match="'way'"):
        dots(measured.drop(columns="way"), "layer", "penalty", "way", **options)


def test_curves_may_be_told_apart_by_numbers():
    table = pd.DataFrame({"x": [0, 1, 0, 1], "y": [0.0, 1.0, 1.0, 2.0], "rank": [1, 1, 2, 2]})
    axis = single_curves(table, "x", "y", "rank", xlabel="x", ylabel="y").axes[0]
    assert [line.get_ydata().tolist() for line in axis.lines] == [[0.0, 1.0], [1.0, 2.0]]


def test_the_palette_can_be_told_apart_on_white_and_on_black():
    def luminance(colour: str) -> float:
        rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    shades = {name: luminance(colour) for name, colour in COLOURS.items() if name != "ink"}
    assert all(1.05 / (shade + 0.05) > 2 and (shade + 0.05) / 0.05 > 2 for shade in shades.values())
    assert len(set(GROUP_COLOURS.values())) == len(GROUP_COLOURS)


def test_curves_go_through_the_means_and_bands_are_the_intervals():
    (axis,) = mean_curves(many, "layer", "penalty", "stitch").axes
    lines = [line for line in axis.lines if len(line.get_ydata())]  # the others are of the legend
    for line, (_, trials) in zip(lines, many.groupby("stitch", sort=False), strict=True):
        assert line.get_ydata().tolist() == trials.groupby("layer")["penalty"].mean().tolist()
    assert len(axis.collections) == 2
    low, high = interval(many.query("stitch == 'full' and layer == 10")["penalty"])
    band = axis.collections[0].get_paths()[0].vertices
    assert {low, high} <= set(band[band[:, 0] == 10][:, 1])


def test_means_are_arithmetic_in_every_panel_of_a_logarithmic_figure():
    trials = pd.DataFrame(
        {"x": 1, "y": [1.0, 100.0] * 2, "stitch": "a", "panel": ["left"] * 2 + ["right"] * 2}
    )
    for axis in mean_curves(trials, "x", "y", "stitch", panels="panel", log=True).axes:
        assert axis.get_lines()[0].get_ydata().tolist() == [50.5]


def test_single_curves_are_the_means_of_each_trial_and_their_mean():
    left, right = single_curves(curves, "alpha", "iou", "weights", "network", **LINES).axes
    assert (left.get_title(), right.get_title()) == ("behind", "linear")
    heights = [line.get_ydata().tolist() for line in left.lines[:4]]
    assert heights == [[n + 1.5, n + 1.0, n + 0.5] for n in (0, 1, 2, 1)]
    assert {text.get_text() for text in right.texts} == {"trained", "untrained"}


# --- folds and counts of shallow networks ---

networks = {
    "p": ShallowReLU([[1, 0]], [0], [[1]], [0]),
    "q": ShallowReLU([[-1, 1]], [0.5], [[2]], [0]),
}
ticks = np.linspace(-1, 1, 5)
counted = pd.DataFrame({"size": [1, 1, 2, 2], "hidden": [10, 20, 0, 3]})


def test_the_line_of_counts_is_the_median():
    (line,) = hidden_counts(counted).axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [15, 1.5])


def test_a_fold_lies_where_the_neuron_is_zero():
    left, right = folded_planes(networks, ticks).axes
    assert [left.get_title(), right.get_title()] == ["p", "q"]
    (fold,) = [line for line in right.get_lines() if hasattr(line, "_xy2")]
    for point in (fold._xy1, fold._xy2):
        assert abs(-point[0] + point[1] + 0.5) < 1e-12


# --- tables for people ---


def test_readable_writes_words_marks_dashes_and_rounded_numbers():
    table = pd.DataFrame(
        {"a": [1.2345, float("nan")], "b": [True, False], "c": ["<x>", None], "n": [3000, -4]}
    )
    text = readable(table, {"a": "length, m", "b": "holds", "c": "name", "n": "count"}, digits={"a": 1}).data
    assert all(part in text for part in ("1.2<", "✓", "·", "–", "&lt;x&gt;", "length, m", ">3,000<", ">−4<"))
    assert "1.23" not in text
    assert "long" not in text


def test_readable_scrolls_when_long_and_refuses_unknown_columns():
    assert 'class="readable long"' in readable(pd.DataFrame({"a": range(LONG + 1)}), {"a": "A"}).data
    with pytest.raises(ValueError, match="Expected a table with the columns 'z'"):
        readable(pd.DataFrame({"a": [1]}), {"z": "Z"})
