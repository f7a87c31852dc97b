"""Many networks: one loop trains them, wherever it runs; the zoo stores them and finds them again."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pandas as pd
import pytest
import torch
from helpers import same
from torch import nn

from intertwine import files
from intertwine.training import Batches, Trained, evaluate, train
from intertwine.training.recipes import VERSION
from intertwine_book import data, models, zoo
from intertwine_book.zoo import RECIPES, Spec, many, train_many
from intertwine_book.zoo.spec import ARCHITECTURES

pytestmark = pytest.mark.usefixtures("one_thread")
DIGITS = data.load("digits", "train")
SMALL = DIGITS[:200]
SHORT = replace(RECIPES["digits"], epochs=3)
NOTHING = replace(SHORT, epochs=0)
MYRTLE = {"width": 2, "in_channels": 1}
PAIRS = [(0, 0), (1, 1), (0, 1)]


def all_same(first: list[Trained], second: list[Trained]) -> bool:
    return all(same(one.network, other.network) for one, other in zip(first, second, strict=True))


def double_fcn(*, seed: int, hidden: int = 7) -> nn.Module:
    return nn.Sequential(nn.Flatten(), models.fcn((64, hidden, 10), bias=True, seed=seed)).double()


# --- what is trained ---


def test_a_spec_builds_what_its_function_builds():
    for seed in (0, 1):
        assert same(Spec("myrtle", SMALL, SHORT, MYRTLE).build(seed), models.myrtle(**MYRTLE, seed=seed))
        assert same(Spec(double_fcn, SMALL, SHORT).build(seed), double_fcn(seed=seed))
    assert all(callable(getattr(models, name)) for name in ARCHITECTURES)


ACTIVATION: type[nn.Module] = nn.ReLU


def unseeded(width: int = 3) -> nn.Module:
    """As a user writes it: torch draws the weights, a global decides on the activation."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), ACTIVATION(), nn.Linear(width, 10))


def test_a_function_that_ignores_seeds_is_seeded():
    spec, state = Spec(unseeded, SMALL, SHORT), torch.get_rng_state()
    assert same(spec.build(0), spec.build(0)) and not same(spec.build(0), spec.build(1))
    assert torch.equal(state, torch.get_rng_state())


def stored(root) -> int:
    return len(list(root.rglob("*.pt")))


def test_a_changed_global_is_another_network(tmp_path, monkeypatch):
    get = partial(zoo.get, Spec(unseeded, SMALL, SHORT), [0], root=tmp_path, device="cpu")
    (relu,) = get()
    monkeypatch.setattr(sys.modules[__name__], "ACTIVATION", nn.Tanh)
    (tanh,) = get()
    assert isinstance(tanh.network[2], nn.Tanh) and not same(relu.network, tanh.network)
    (alone,) = train_many(Spec(unseeded, SMALL, SHORT), [0], device="cpu")
    assert same(alone.network, tanh.network)
    monkeypatch.setattr(sys.modules[__name__], "ACTIVATION", nn.ReLU)
    assert same(get()[0].network, relu.network) and stored(tmp_path) == 2


class Powers(nn.Module):
    """A forward that the modules do not show."""

    power = 1

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x.flatten(1)) ** Powers.power


def test_a_changed_forward_is_trained_anew(tmp_path, monkeypatch):
    get = partial(zoo.get, Spec(Powers, SMALL, SHORT), [0], root=tmp_path, device="cpu")
    (first,), (again,) = get(), get()
    assert same(first.network, again.network)
    monkeypatch.setattr(Powers, "power", 3)
    (other,) = get()
    assert not same(first.network, other.network)
    assert same(get()[0].network, other.network)


def test_the_zoo_tells_apart_what_the_weights_depend_on(tmp_path):
    spec = Spec("myrtle", SMALL, NOTHING, MYRTLE)

    def has(new: int, **changes) -> None:
        before = stored(tmp_path)
        zoo.get(replace(spec, **changes), [0], root=tmp_path, device="cpu")
        assert stored(tmp_path) - before == new, changes

    has(1)
    has(0, data=replace(SMALL, name="renamed"), arguments=dict(MYRTLE))
    has(1, arguments=MYRTLE | {"width": 3})
    has(1, arguments=MYRTLE | {"activation": nn.Tanh})  # any argument
    has(1, recipe=replace(NOTHING, lr=0.02))
    has(1, recipe=replace(NOTHING, dtype="bfloat16"))
    has(1, data=replace(SMALL, images=SMALL.images * 2))
    has(1, architecture=lambda seed: models.myrtle(**MYRTLE, seed=seed), arguments={})
    has(1, architecture=partial(models.myrtle, **MYRTLE), arguments={})
    has(0, architecture=partial(models.myrtle, **MYRTLE), arguments={})
    has(1, architecture=lambda: models.myrtle(**MYRTLE, seed=5), arguments={})


def test_the_precision_that_a_device_chooses_is_in_the_key(tmp_path, monkeypatch):
    spec = Spec("myrtle", SMALL, NOTHING, MYRTLE)
    for able in ({}, {"amx_bf16": True}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        zoo.get(spec, [0], root=tmp_path, device="cpu")
    assert stored(tmp_path) == 2


def test_pairs_share_no_network(tmp_path):
    found = zoo.pairs(Spec("myrtle", SMALL, NOTHING, MYRTLE), 2, seed=3, root=tmp_path, device="cpu")
    for k, network in enumerate(network for pair in found for network in pair):
        assert same(network, models.myrtle(**MYRTLE, seed=3 + k))


def test_the_version_stands_for_these_numbers():
    """A change in the numbers, far beyond rounding, asks for a new VERSION: then write the new ones here."""
    recipe = replace(RECIPES["fast"], epochs=1, lr=0.01, batch_size=20, dtype="float32")
    history = train(models.resnet20(2, in_channels=1, seed=1), SMALL, recipe, seed=2, device="cpu").history
    assert VERSION == 1
    assert history["loss"].item() == pytest.approx(3.2881, abs=2e-3)


# --- one loop ---


def test_many_is_one_after_another():
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    trained = train_many(spec, [0, 1, (0, 1)], device="cpu")
    for (init, order), one in zip(PAIRS, trained, strict=True):
        alone = train(models.myrtle(**MYRTLE, seed=init), SMALL, SHORT, seed=order, device="cpu")
        assert same(one.network, alone.network)
        assert one.history["loss"].equals(alone.history["loss"])
    assert not same(trained[0].network, trained[2].network)  # other order, same initialisation


def test_threads_are_parted_among_the_networks_wanted_not_those_missing(monkeypatch, tmp_path):
    spec, given = Spec("myrtle", SMALL, NOTHING, MYRTLE), []

    def work(*arguments, threads, **options):
        given.append(threads)
        return train_one(*arguments, threads=1, **options)

    train_one = many._train
    monkeypatch.setattr(many, "_train", work)
    monkeypatch.setattr(many, "Parallel", lambda **_: lambda calls: (f(*a, **k) for f, a, k in calls))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    for seeds in ([0, 1], [0, 1, 2], [0, 1, 3], [5]):
        zoo.get(spec, seeds, root=tmp_path, device="cpu")
    assert given == [3, 3, 2, 2, 6]


def test_a_job_trains_with_its_threads_and_gives_them_back():
    seen = []

    def spying(seed: int) -> nn.Module:
        seen.append(torch.get_num_threads())
        return models.myrtle(**MYRTLE, seed=seed)

    before = torch.get_num_threads()
    arrays = SMALL.images.numpy().copy(), SMALL.labels.numpy().copy()
    empty = replace(SMALL, images=SMALL.images[:0], labels=SMALL.labels[:0])
    seed, trained = many._train(
        Spec(spying, empty, NOTHING), *arrays, seed=(0, 1), threads=before + 1, device="cpu"
    )
    assert seen == [before + 1] and torch.get_num_threads() == before and seed == (0, 1)
    assert trained.history.empty


@pytest.mark.slow
def test_processes_train_bitwise_the_same_networks():
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    assert all_same(*(train_many(spec, [0, 1, (0, 1)], device="cpu", n_jobs=n) for n in (1, 2)))


# --- the zoo ---


@pytest.fixture
def trained_seeds(monkeypatch):
    """The seeds of all networks that are trained in a test, in order."""
    seeds, train_one = [], many._train

    def work(*arguments, **options):
        seeds.append(options["seed"])
        return train_one(*arguments, **options)

    monkeypatch.setattr(many, "_train", work)
    return seeds


def test_the_zoo_trains_what_is_missing_and_finds_the_rest(tmp_path, trained_seeds):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    get = partial(zoo.get, root=tmp_path, device="cpu")
    first = get(spec, [0, (0, 1)])
    again = get(spec, [(0, 1), 1, 0, 1])
    assert trained_seeds == [(0, 0), (0, 1), (1, 1)]
    assert same(first[0].network, again[2].network) and same(first[1].network, again[0].network)
    assert same(again[1].network, again[3].network)
    assert first[0].history.equals(again[2].history)
    assert all_same(train_many(spec, [0, (0, 1), 1], device="cpu"), [*first, again[1]])
    assert evaluate(first[0].network, SMALL.images, SMALL.labels) > 0.2
    get(replace(spec, recipe=replace(SHORT, epochs=1)), [0])
    assert stored(tmp_path) == 4


def test_an_interrupted_zoo_goes_on_where_it_was(tmp_path, monkeypatch, trained_seeds):
    spec, epochs, drawn = Spec("myrtle", SMALL, SHORT, MYRTLE), [], Batches.epoch

    def counting(self, number, *, seed):
        epochs.append((seed, number))
        if len(epochs) == 6:  # the second network's third epoch
            raise KeyboardInterrupt
        return drawn(self, number, seed=seed)

    monkeypatch.setattr(Batches, "epoch", counting)
    with pytest.raises(KeyboardInterrupt):
        zoo.get(spec, [0, 1, 2], root=tmp_path, device="cpu")
    resumed = zoo.get(spec, [0, 1, 2], root=tmp_path, device="cpu")
    assert epochs[6:] == [(1, 2), (2, 0), (2, 1), (2, 2)]
    assert all_same(resumed, train_many(spec, [0, 1, 2], device="cpu"))
    assert not list(tmp_path.rglob("*.checkpoint"))


def test_two_runs_at_once_train_once(tmp_path, trained_seeds):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    got: dict[int, list] = {}

    def run(k: int) -> None:
        got[k] = zoo.get(spec, [0], root=tmp_path, device="cpu")

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trained_seeds == [(0, 0)] and same(got[0][0].network, got[1][0].network)


def test_stored_networks_are_found_while_others_are_trained(tmp_path, trained_seeds):
    """A chapter waited an hour for networks that it did not want."""
    get = partial(zoo.get, Spec("myrtle", SMALL, NOTHING, MYRTLE), [0], root=tmp_path, device="cpu")
    get()
    (file,) = tmp_path.rglob("*.pt")
    with ThreadPoolExecutor() as pool, files.lock(file.parent):
        assert len(pool.submit(get).result(timeout=30)) == 1
    assert trained_seeds == [(0, 0)]


def test_where_the_zoo_lies(tmp_path, monkeypatch):
    spec = Spec("myrtle", SMALL, NOTHING, MYRTLE)
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    monkeypatch.delenv("INTERTWINE_ZOO", raising=False)
    zoo.get(spec, [0], device="cpu")
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "elsewhere"))
    zoo.get(spec, [0], device="cpu")
    zoo.get(spec, [0], device="cpu", root=tmp_path / "given")
    assert all(stored(tmp_path / name) == 1 for name in ("zoo", "elsewhere", "given"))


def test_a_file_of_the_zoo_tells_its_content(tmp_path):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    zoo.get(spec, [0], root=tmp_path, device="cpu")
    (path,) = tmp_path.rglob("*.pt")
    content = torch.load(path, weights_only=True)
    assert content["architecture"] == "myrtle" and content["arguments"] == {"width": "2", "in_channels": "1"}
    assert content["recipe"]["lr"] == SHORT.lr and content["data"]["checksum"] == SMALL.checksum
    assert content["made by"] == {"torch": torch.__version__, "device": "cpu"}
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(OSError, match=r"0-0-.*pt is damaged or was not written here \(.*\): delete it"):
        zoo.get(spec, [0], root=tmp_path, device="cpu")


# --- mistakes ---


def test_mistakes_are_one_sentence_before_any_work(tmp_path, trained_seeds):
    def attempt(match: str, arguments=MYRTLE, **options) -> None:
        spec = Spec("myrtle", SMALL, SHORT, arguments)
        for train_them in (train_many, partial(zoo.get, root=tmp_path)):
            with pytest.raises(ValueError, match=match) as raised:
                train_them(spec, **({"seeds": [0, 1], "device": "cpu"} | options))
            assert "\n" not in str(raised.value) and not trained_seeds

    attempt("was given .1, 1, 8, 8.", {"width": 2})
    attempt("labels from 0 to 9", MYRTLE | {"classes": 3})
    if not torch.cuda.is_available():
        attempt("Expected a device that this machine has, was given 'cuda'", device="cuda")
    with pytest.raises(
        ValueError, match=r"Unknown architecture 'mrytle': did you mean 'myrtle'.* a function"
    ):
        Spec("mrytle", SMALL, SHORT)


def test_equal_starts_are_refused_unless_the_pairs_say_so(tmp_path):
    network = unseeded()
    spec = Spec(lambda: network, SMALL, replace(SHORT, epochs=0))
    for get in (train_many, partial(zoo.get, root=tmp_path)):
        with pytest.raises(ValueError, match=r"other initial weights from another seed, .* for 0 and 1"):
            get(spec, [0, 1], device="cpu", n_jobs=1)
    assert len(zoo.get(spec, [(0, 0), (0, 1)], root=tmp_path, device="cpu", n_jobs=1)) == 2


def test_on_a_gpu_networks_in_bfloat16_are_trained_in_lots_and_a_loss_that_is_not_finite_costs_no_other(
    monkeypatch,
):
    asked = []

    def at_once(spec, lot, device, progress):
        asked.append(lot)
        losses = [float("nan") if start == 3 else 1.0 for start, _ in lot]
        return [Trained(nn.Identity(), pd.DataFrame({"loss": [loss]})) for loss in losses]

    monkeypatch.setattr(many, "_at_once", at_once)
    gpu, seeds = torch.device("cuda"), [(k, k) for k in range(10)]
    spec = Spec("myrtle", SMALL, replace(SHORT, dtype="bfloat16"), MYRTLE)
    done = dict(many.train_each(spec, seeds[4:], gpu, None, False))
    assert [*done] == seeds[4:] and asked == [seeds[4:]]
    asked.clear()
    with pytest.raises(FloatingPointError, match=r"\[\(3, 3\)\] are not finite"):
        for seed, _ in many.train_each(spec, seeds, gpu, None, False):
            done[seed] = None
    assert [len(lot) for lot in asked] == [8] and {*done} >= {*seeds[:3], *seeds[4:8]}
