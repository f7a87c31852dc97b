"""The findings that *What we learned* states in plain words hold in the recorded tables."""

import re
from pathlib import Path

import pandas as pd

from intertwine_book import results

DESK = Path(__file__).parents[1] / "data/results/desk"


def table(chapter, name):
    return results.read(name, folder=DESK / chapter)[0]


def test_at_the_paper_s_width_the_permutation_loses_less_than_rank_four():
    wide = table("03_stitching", "stitched")
    found = wide.pivot_table(index="layer1", columns="stitch", values="penalty")
    each = wide.pivot(index=["layer1", "pair"], columns="stitch", values="penalty")
    assert len(each) == 16 and (each["G_ReLU"] < each["rank 4"]).all()
    assert (2 * found["G_ReLU"] < found["rank 4"]).all()
    kinds = {kind: (round(found[kind].min(), 1), round(found[kind].max(), 1)) for kind in found}
    assert kinds["full"] == (0.5, 2.3)
    assert tuple(map(round, kinds["G_ReLU"])) == (4, 9) and tuple(map(round, kinds["rank 4"])) == (9, 22)
    assert tuple(map(round, kinds["rank 1"])) == (25, 50)
    narrow = table("03_stitching", "stitched_width_16").query("stitch == 'G_ReLU'")
    narrow = narrow.groupby("layer1")["penalty"].mean()
    times = narrow / found["G_ReLU"]
    assert (round(times.min(), 1), round(times.max(), 1)) == (1.9, 4.3)
    assert (round(narrow.min()), round(narrow.max())) == (8, 18)


def test_rank_one_loses_more_than_a_permutation_at_three_of_four_layers():
    found = table("03_stitching", "figure_1_width_16")
    gap = found.assign(gap=found["rank_1"] - found["g_relu"]).pivot(
        index="layer", columns="pair", values="gap"
    )
    assert (gap.loc[[6, 10, 14]] > 20).all(axis=None)
    low, _ = results.interval(gap.loc[3])
    assert low < 0  # four pairs do not decide at the first layer


def test_reestimating_batch_norm_lowers_the_penalty_of_the_same_maps():
    found = table("03_stitching", "norms").groupby("stitch")["penalty"].mean()
    for kind in ("assignment", "least squares"):
        assert found[f"{kind}, frozen"] - found[f"{kind}, re-estimated"] > 5


def test_the_map_that_fits_best_is_not_the_map_that_works_best():
    found = table("03b_matching", "experiment_1_by_pair")
    assert (found["task_loss"] > found["least_squares"]).all()


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


def test_the_printed_threshold_admits_the_zero_function():
    assert (table("06_genni", "thresholds")["relative"] > 1).any()


def test_the_second_surface_of_figure_2_needs_a_threshold_above_the_energy():
    found = (
        table("06_genni", "crossing").query("target == 'a slope 0'").set_index("epsilon")["second_surface"]
    )
    assert (found[found.index > 1] > 0.1).all() and (found[found.index < 1] == 0).all()
    live = table("06_genni", "crossing").query("target == 'both slopes alive' and epsilon > 10")
    assert (live["second_surface"] > 0.1).all()  # so that the slope 0 is not the cause


def test_a_plane_of_solutions_beats_any_plane_and_not_one_through_a_solution():
    anywhere = table("06_genni", "conjecture_anywhere")
    assert 1.5 < (anywhere["solutions"] / anywhere["random"]).median() < 4
    through = table("06_genni", "conjecture").query("epsilon == 0.1")
    low, high = results.interval(through["solutions"] - through["random"])
    assert low < 0 < high


def test_an_index_may_stay_while_the_accuracy_changes_and_the_reverse():
    trained = table("04b_similarity_and_function", "experiment_3")
    assert (trained["accuracy_end"] - trained["accuracy_start"]).between(1.54, 4.11).all()
    assert pd.Series(trained["cka_start"] - trained["cka_end"]).abs().max() < 0.004
    rotated = table("04b_similarity_and_function", "section_6_4").query("group == 'orthogonal'")
    assert (
        rotated["cka_short_of_1"].max() < 1e-4 and (rotated["base_accuracy"] - rotated["accuracy"]).min() > 20
    )


def test_table_2_tells_where_stitching_is_hard_in_wide_networks_only():
    name = "table_2_with_figure_1"
    wide = table("04_dissimilarity", name)
    assert len(wide) == 4 and (wide["rank_correlation"] < 0).all()
    assert (table("04_dissimilarity", f"{name}_width_16")["rank_correlation"] > 0).all()


def test_on_equal_terms_rank_one_loses_more_than_the_group_and_ranks_two_and_four_do_not():
    found = table("03_stitching", "protocols").groupby("pair").mean(numeric_only=True)
    for way in ("paper", "best"):
        more = {rank: found[f"rank_{rank}_{way}"] - found[f"g_relu_{way}"] for rank in (1, 2, 4)}
        assert results.interval(more[1])[0] > 10
        assert results.interval(more[2])[0] < 0 and results.interval(more[4])[1] < 0
        assert 20 < more[1].mean() < 30 and abs(more[2].mean()) < 3
    # the start from activations, with as many epochs
    assert (found["g_relu_best"] < 0.7 * found["g_relu_paper"]).all()


def test_svcca_has_no_steady_relation_to_the_accuracy():
    found = table("04b_similarity_and_function", "experiment_3")["svcca_with_accuracy"]
    assert found.min() < -0.7 and found.max() > 0.1


def test_between_the_published_networks_the_task_keeps_more_and_its_starts_decide():
    pairs = table("03b_matching", "experiment_1_by_pair")
    assert len(pairs) == 5 and (pairs["task_loss"] > pairs["least_squares"]).all()
    assert round(pairs["task_loss"].mean(), 2) == 0.97 and round(pairs["least_squares"].mean(), 2) == 0.92
    ranked = table("03b_matching", "low_rank")
    assert (ranked["task_loss_from_direct"] > ranked["direct"]).all()
    assert (ranked["task_loss"] < ranked["direct"]).any()
    sparse = table("03b_matching", "experiment_7").query("0.8 <= sparsity <= 0.97")
    assert (sparse["task_loss"] - sparse["direct"]).groupby(sparse["pair"]).mean().min() > 0.25
    starts = table("03b_matching", "experiment_5")
    assert len(starts) == 32 and starts["same_order"].sum() == 18
    fitted = starts.groupby("layer1")["least_squares"]
    assert (fitted.max() - fitted.min()).max() < 0.01


def test_slopes_and_residual_blocks_of_small_networks():
    slopes = table("03_stitching", "slopes").groupby("pair").mean(numeric_only=True)
    less = slopes["other_slopes"] - slopes["slope_1"]
    assert len(less) == 4 and less.between(5.5, 16).all()
    blocks = table("03_stitching", "figure_6").groupby("pair").mean(numeric_only=True)
    more = blocks["g_relu"] - blocks["full"]
    assert len(more) == 4 and more.between(7.5, 18.5).all() and round(more.mean()) == 13


def test_a_cka_below_three_quarters_costs_more_than_training_alike():
    found = table("04b_similarity_and_function", "experiment_4")
    assert len(found) == 5 and (found["lowest"] < 0.75).all()
    assert found["beyond_control"].between(2.1, 3.5).all()


def test_the_stitch_that_cka_chooses_is_nearer_by_cka_and_useless():
    found = table("04b_similarity_and_function", "objective")
    assert len(found) == 5 and (found["cka_chosen"] > found["cka_fitted"]).all()
    assert found["accuracy_chosen"].between(13, 22).all() and found["accuracy_fitted"].between(75, 85).all()


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
    turned = table("04b_similarity_and_function", "section_6_4").query("group == 'orthogonal'")
    assert (round(turned["base_accuracy"].mean()), round(turned["accuracy"].mean())) == (86, 11)
    assert round(table("06_genni", "thresholds")["relative"].max()) == 16


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
