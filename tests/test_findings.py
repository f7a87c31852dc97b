"""The findings that *What we learned* states in plain words hold in the recorded tables."""

import re
from pathlib import Path

from intertwine_book import results

DESK = Path(__file__).parents[1] / "data/results/desk"


def table(chapter, name):
    return results.read(name, folder=DESK / chapter)[0]


def test_what_training_adds_does_not_follow_the_size_of_the_group():
    asked = "dataset == 'concepts' and layer == 'output' and quantile == 0.02 and statistic == 'mean_iou'"
    fall = -table("05_interpretability", "slopes").query(asked).groupby("kind")["difference"].mean()
    # groups of GELU, tanh and ReLU grow in this order
    assert not fall["GELU"] < fall["tanh"] < fall["ReLU"] and not fall["GELU"] > fall["tanh"] > fall["ReLU"]
    assert fall["GELU"] > fall["ReLU"] > fall["tanh"] > 0.001 and abs(fall["no ReLU"]) < 0.001
    each = table("05_interpretability", "slopes").query(asked).groupby("kind")["difference"]
    (relu_low, _), (_, tanh_high) = (results.interval(-each.get_group(kind)) for kind in ("ReLU", "tanh"))
    assert relu_low < tanh_high  # the intervals overlap, so that the order is not decided


def test_training_on_imagenet_makes_the_basis_special_behind_an_activation_only():
    asked = "statistic == 'mean_iou'"
    gaps = (
        table("05_interpretability", "imagenet_slopes")
        .query(asked)
        .pivot(index="network", columns="layer", values="difference")
    )
    assert (gaps["behind the first ReLU6"] < -0.001).all() and gaps["behind the second ReLU6"].mean() < 0
    assert gaps["linear output"].abs().mean() < 0.001
    curves = table("05_interpretability", "imagenet").query("weights == 'trained'")
    by_alpha = curves.groupby(["layer", "alpha"])["mean_iou"].mean().unstack()
    lost = 1 - by_alpha[1.0] / by_alpha[0.0]
    assert 0.2 < lost["behind the first ReLU6"] < 0.3 and abs(lost["linear output"]) < 0.03  # "a quarter"
    stage = curves.groupby("network")["block"].rank("dense")
    deepest = curves[stage > stage.max() - 2].query("layer == 'behind the second ReLU6'")
    ends = deepest.groupby(["network", "block", "alpha"])["mean_iou"].mean().unstack()
    assert (ends[1.0] > ends[0.0]).all()


def test_table_2_tells_where_stitching_is_hard_in_wide_networks_only():
    name = "table_2_with_figure_1"
    wide = table("04_dissimilarity", name)
    assert len(wide) == 4 and (wide["rank_correlation"] < 0).all()
    assert (table("04_dissimilarity", f"{name}_width_16")["rank_correlation"] > 0).all()


def test_the_numbers_of_the_essay():
    relu = table("02_sanity_rotations", "best_linear_map_width_16").query("activation == 'relu'")
    cost = relu.groupby("group")["penalty"].mean()
    assert cost["permutations"] == cost["positive scalings"] == 0
    assert (round(cost["orthogonal"], 1), round(relu["base_accuracy"].mean(), 1)) == (15.5, 80.2)
    finetuned = table("02_sanity_rotations", "figure_4")
    assert (finetuned["orthogonal_penalty"] > finetuned["relu_penalty"]).all() and len(finetuned) == 15
    means = finetuned.groupby("layer").mean().round(1)
    assert means["orthogonal_penalty"].tolist() == [2.1, 4.9, 11.2]
    assert means["relu_penalty"].tolist() == [1.6, 3.2, 5.5]
    norms = table("03_stitching", "norms").assign(last=lambda rows: rows["layer1"] == "relu4")
    maps = norms[~norms["last"]].groupby("stitch")["penalty"].mean()
    last = norms[norms["last"]].groupby("stitch")["penalty"].mean()
    assert abs(last["least squares, frozen"] - last["least squares, re-estimated"]) < 0.1
    ways = [round(maps[f"least squares, {way}"], 1) for way in ("frozen", "re-estimated")]
    assert ways == [12.4, 3.7]
    walls = (
        table("03_stitching", "barriers")
        .query("batch_norm == 're-estimated'")
        .groupby("way")["barrier"]
        .mean()
    )
    assert (round(walls["as trained"]), round(walls["matched by activations"])) == (58, 7)


def test_the_essay_has_a_figure_for_each_name_and_none_without():
    from intertwine_book import claims
    from intertwine_book.figures.headlines import headlines

    root = DESK.parents[2]
    ledger = claims.load(root / "book/claims.yml")
    figures = headlines(ledger)
    text = "".join((root / f"book/{page}.md").read_text() for page in ("learned", "intro"))
    assert set(re.findall(r"generated/learned-(\w+)\.svg", text)) == set(figures)
    (axis,) = figures["stitches"].axes
    printed = {
        round(float(y), 3) for line in axis.lines for y in line.get_ydata() if line.get_mfc() == "none"
    }
    assert printed == {
        c.printed
        for c in ledger
        if c.table == "figure_1"
        and c.kind == "number"
        and c.columns[0] in ("full", "g_relu", "rank_1", "rank_4")
    }


def test_the_map_on_the_home_page_has_every_chapter_behind_those_that_it_needs():
    from intertwine_book.build.layout import Book
    from intertwine_book.build.render import needs
    from intertwine_book.figures.chapter_map import arrows, chapter_map

    book = Book(DESK.parents[2])
    found = needs(book)
    assert [f"{name:0>2}" if name.isdigit() else f"0{name}" for name in found] == [
        name.split("_")[0] for name in book.chapters
    ]
    assert found["4b"] == ("Similarity and function", ["4", "3", "3b"])
    assert all(
        list(found).index(other) < list(found).index(name) for name in found for other in found[name][1]
    )
    assert len(chapter_map(found).axes[0].patches) == len(found)
    after = {name: [n for n, before in arrows(found).items() if name in before] for name in found}
    said = "; ".join(f"{name} → {', '.join(names)}" for name, names in after.items() if names)
    assert f'"Arrows: {said}."' in (book.root / "book/intro.md").read_text()


def test_umap_changes_the_number_of_pieces_in_9_of_25_pictures():
    found = table("06b_genni_lenet", "umap")
    changed = found["drawn"] != found["sampled"]
    assert (len(found), changed.sum(), found["agrees"].sum()) == (25, 9, 20)
    assert set(found.loc[changed & found["agrees"], "set"]) == {"LeNet, live"}
