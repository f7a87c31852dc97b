"""GPUs that are pretended: which one a notebook takes, how many run at once, a full one; what paper plans."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner
from papermill.exceptions import PapermillExecutionError

from intertwine_book.build import chapters, execute, plans, status
from intertwine_book.build.cli import cli
from intertwine_book.build.layout import RECORDED, Book, BookError

pytestmark = pytest.mark.filterwarnings("default")  # of the notebook machinery, not ours
BOOK = Book(Path(__file__).parent.parent)


@pytest.fixture
def gpus(monkeypatch):
    """A function that pretends so many GPUs, with 40 GiB each."""

    def pretend(count: int, visible: str = "") -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        gpu = SimpleNamespace(name="GPU X", total_memory=40 * 2**30)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda k: gpu)
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    return pretend


@pytest.mark.parametrize("profile", ["quick", "paper"])
def test_at_desk_and_paper_each_notebook_takes_a_gpu_where_there_is_one(profile):
    for name, values in BOOK.overrides(profile).items():
        _, settings = execute.prepare(BOOK.notebooks[name], values)
        wanted = "auto" if profile in RECORDED else "cpu"
        assert settings.get("device", wanted) == wanted, name


@pytest.mark.parametrize(
    ("count", "visible", "devices", "each"),
    [
        (0, "", ["auto"], []),
        (1, "", ["cpu"], []),
        (1, "", ["auto", "cpu"], ["0"]),
        (2, "", ["auto"], ["0", "1"]),
        (2, "3,5", ["cuda"], ["3", "5"]),
        (1, "3,9", ["auto"], ["3"]),  # of which the machine has one
        (2, "3,5", ["cuda:1"], ["3,5"]),
    ],
)
def test_a_notebook_at_a_time_sees_one_of_the_gpus_that_may_be_seen(gpus, count, visible, devices, each):
    gpus(count, visible)
    assert chapters.gpus(devices) == each


@pytest.mark.parametrize(
    ("count", "device", "jobs", "seen"),
    [
        (1, "auto", None, ["0"]),
        (2, "auto", None, ["0", "1"]),
        (1, "auto", 2, ["0", "0"]),
        (0, "auto", 2, [None, None]),
        (1, "cpu", 2, [None, None]),
    ],
)
def test_notebooks_at_once_are_as_many_as_gpus_unless_jobs_are_asked_for(
    tiny_book, gpus, monkeypatch, count, device, jobs, seen
):
    found = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, jobs, context, begin, channels):
            super().__init__(1)
            for _ in range(jobs):  # as each process begins
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                begin(*channels)
                found.append(os.environ.get("CUDA_VISIBLE_DEVICES"))

    gpus(count)
    for source in tiny_book.chapters.values():
        source.write_text(source.read_text().replace("rate: float", f'device: str = "{device}"\nrate: float'))
    monkeypatch.setattr(chapters, "_end_with_the_build", lambda: None)
    monkeypatch.setattr(chapters, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(chapters, "in_a_process", lambda task, threads: "done")
    chapters.run(chapters.plan(tiny_book, "quick"), jobs=jobs)
    assert found == seen


SAID = (
    "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 39.50 GiB of which "
    "3.21 GiB is free. Including non-PyTorch memory, this process has 36.29 GiB memory in use."
)


def test_a_full_gpu_says_in_its_first_sentence_what_to_do(tiny_book, monkeypatch):
    def full(node, output, *, report, **options):
        report(2, node)
        raise PapermillExecutionError(1, 1, "big()", "OutOfMemoryError", SAID, [])

    monkeypatch.setattr(execute, "execute_notebook", full)
    with pytest.raises(BookError) as error:
        chapters.bring_up_to_date(chapters.plan(tiny_book, "quick")["01_first"])
    first, cell, numbers, kept = str(error.value).split("\n    ")
    assert all(
        way in first for way in ("too little memory", "--jobs 1", "smaller parameters", "-p device cpu")
    )
    assert cell.startswith("in cell In [1]") and numbers.endswith("of which 3.21 GiB is free")
    assert str(tiny_book.failed("quick", "01_first")) in kept


# parameters for all notebooks


def test_a_parameter_of_a_build_counts_in_each_notebook_that_has_it(tiny_book):
    source = tiny_book.chapters["02_second"]
    source.write_text(source.read_text().replace("rate: float = 0.1\n", ""))
    first, second = chapters.plan(tiny_book, "smoke", given={"seed": 7, "rate": 0.2}).values()
    assert first.settings == {"seed": 7, "rate": 0.2} and second.settings == {"seed": 7}
    assert chapters.told("smoke", second.own) == "smoke with seed 7"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["-p", "sed", "7"], "Unknown parameter 'sed': did you mean 'seed'? Known: rate, seed."),
        (["-p", "seed=many"], "In 01_first: Parameter 'seed' expects int"),
    ],
)
def test_a_parameter_that_no_notebook_takes_is_refused_before_any_work(tiny_book, given, words):
    said = CliRunner(env={"COLUMNS": "300"}).invoke(cli, ["build", *given])
    assert said.exit_code == 1 and words in said.output
    assert not (tiny_book.root.parent / "runs").exists()


# what paper would compute


def test_status_says_in_words_what_is_there_what_is_missing_and_where_it_is_computed(gpus, tiny_book):
    source = """
# %% tags=["parameters"]
scale: str = "quick"

# %%
SIDES = range(30 if scale == "paper" else 3)

@record.table(side=SIDES)
def areas(side):
    return {"area": side**2}
"""
    (tiny_book.root / "chapters/records").mkdir()
    (tiny_book.root / "chapters/records/01_first.py").write_text(source)
    (tiny_book.root / "chapters/profiles/paper.yml").touch()
    (table := tiny_book.recorded("01_first")).mkdir(parents=True)
    rows = "".join(f"{k},{k * k},0,,2026-11-29,,a CPU,1800\n" for k in range(3))
    (table / "areas.csv").write_text("side,area,code,uses,day,commit,machine,seconds\n" + rows)
    gpus(2)
    book = Book(tiny_book.root)
    assert status.words(book, "paper", status.states(book, "paper")) == [
        "At paper, of 3 notebooks: 3 never run.",
        "records/01_first: 27 of 30 cases are missing, about 13.5 h where the others were computed.",
        "It is computed on GPU X (40.0 GiB), GPU X (40.0 GiB), one notebook at a time on each GPU.",
        "`intertwine build --profile paper` brings all up to date.",
    ]
    assert status.words(book, "quick", status.states(book, "quick"))[0].endswith("3 never run.")
    gpus(0)
    assert "No GPU is here: all is computed on the CPU." in status.words(book, "paper", [])


@pytest.fixture(scope="module")
def paper():
    """The plans of all records at paper, by record and table; nothing is computed."""
    found = {}
    for name, values in BOOK.overrides("paper").items():
        node, _ = execute.prepare(BOOK.notebooks[name], values)
        if name in BOOK.records:
            found |= {(name, each.table): each for each in plans.plans(node, BOOK.recorded(name))}
            written = sum(
                cell.source.count("@record.table") for cell in node.cells if cell.cell_type == "code"
            )
            assert written == sum(record == name for record, _ in found)
    return found


def test_paper_plans_each_table_and_costs_only_a_count(paper):
    assert all(each.cases for each in paper.values())


WIDE = {"dataset": "cifar10", "width": 64, "epochs": 50}
PRINTED = [  # record, table, numbers that are printed, how many pairs
    ("03_stitching", "stitches", WIDE | {"stitch_images": 50_000, "test_images": 10_000}, 32),
    ("04_dissimilarity", "table_2", WIDE | {"state": "trained", "images": 10_000}, 32),
    ("04_dissimilarity", "cka", WIDE | {"state": "trained", "images": 10_000}, 16),
    ("03b_matching", "stitches", {"networks": "Tiny-10", "test_images": 10_000}, 10),
    ("03b_matching", "ranks", {"networks": "Tiny-10", "stitch_epochs": 30, "train_images": 50_000}, 10),
    ("04b_similarity_and_function", "trainings", {"stitch_epochs": 30, "stitch_images": 50_000}, 10),
    ("04b_similarity_and_function", "penalised", {"networks": "Tiny-10", "test_images": 10_000}, 20),
]


@pytest.mark.parametrize(("record", "table", "numbers", "pairs"), PRINTED)
def test_paper_has_the_numbers_of_pairs_epochs_and_images_that_are_printed(
    paper, record, table, numbers, pairs
):
    cases = paper[f"records/{record}", table].cases
    # a network stitched to itself is no pair
    found = {case.get("pair", case.get("network")) for case in cases if numbers.items() <= case.items()}
    assert found == {*range(pairs)}


@pytest.mark.parametrize("group", ["positive scalings", "orthogonal"])
@pytest.mark.parametrize("layer", [0, 2, 5])
def test_paper_finetunes_one_network_after_ten_matrices_of_a_kind_for_50_epochs(paper, group, layer):
    how = WIDE | {"finetuning_epochs": 50, "batch_size": 32, "layer": layer, "group": group}
    cases = paper["records/02_sanity_rotations", "finetuned"].cases
    found = [(case["network"], case["trial"]) for case in cases if how.items() <= case.items()]
    assert found == [(0, k) for k in range(10)]
