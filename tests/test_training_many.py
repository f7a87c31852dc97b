"""Many networks: every way trains the same ones; the zoo keeps them, finds them, and goes on where it was."""

import json
import threading
from dataclasses import replace
from functools import wraps

import joblib
import pytest
import torch
from torch import nn

from intertwine import data, models
from intertwine.training import RECIPES, Recipe, Spec, Trained, evaluate, many, train, train_many, zoo
from intertwine.training.recipes import VERSION
from intertwine.training.spec import ARCHITECTURES
from intertwine.training.stacked import stacking_pays

DIGITS = data.load("digits", "train")
SMALL = replace(
    DIGITS, images=DIGITS.images[:200], labels=DIGITS.labels[:200], checksum="the first 200 digits"
)
SHORT = replace(RECIPES["digits"], epochs=3)
NOTHING = replace(SHORT, epochs=0)
MYRTLE = {"width": 2, "in_channels": 1}
PAIRS = [(0, 0), (1, 1), (0, 1)]


def same(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.state_dict().items(), second.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


def all_same(first: list[Trained], second: list[Trained]) -> bool:
    return all(same(one.network, other.network) for one, other in zip(first, second, strict=True))


def double_fcn(*, seed: int, hidden: int = 7) -> nn.Module:
    return nn.Sequential(nn.Flatten(), models.fcn((64, hidden, 10), bias=True, seed=seed)).double()


class Functional(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.network = double_fcn(seed=seed)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(nn.functional.dropout(x, 0.5, self.training))


def decorated(function):
    @wraps(function)
    def wrapper(**keywords):
        return function(**keywords)

    return wrapper


def seedless() -> nn.Module:
    return nn.Linear(2, 2)


@pytest.fixture(autouse=True)
def one_thread():
    """The number of threads decides on the way and on the rounding, and a test may leave another behind."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)


# --- what is trained ---


def test_a_spec_builds_what_its_function_builds():
    for seed in (0, 1):
        assert same(Spec("myrtle", SMALL, SHORT, MYRTLE).build(seed), models.myrtle(**MYRTLE, seed=seed))
        assert same(Spec(double_fcn, SMALL, SHORT).build(seed), double_fcn(seed=seed))
    assert set(ARCHITECTURES) == {
        *("convnext", "fcn", "lenet", "myrtle", "residual", "resnet18", "resnet20", "tiny10")
    }


def test_the_content_of_a_spec_decides_on_its_digest():
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    assert spec.digest() == Spec("myrtle", replace(SMALL, name="moved"), SHORT, dict(MYRTLE)).digest()
    others = [
        replace(spec, architecture="resnet20"),
        replace(spec, architecture=double_fcn),
        replace(spec, arguments=MYRTLE | {"width": 3}),
        replace(spec, recipe=replace(SHORT, lr=0.02)),
        replace(spec, data=replace(SMALL, checksum="other")),
    ]
    assert len({other.digest() for other in [spec, *others]}) == len(others) + 1


def test_the_zoo_refuses_what_it_could_not_tell_apart(tmp_path):
    def closure(seed: int) -> nn.Module:
        return models.fcn((tmp_path.is_dir(), 2), seed=seed)

    for own in (lambda seed: models.fcn((1, 2), seed=seed), closure):
        with pytest.raises(ValueError, match="a lambda or a closure: build the network in a plain def"):
            zoo.get(Spec(own, SMALL, SHORT), [0], root=tmp_path, device="cpu")
    with pytest.raises(ValueError, match="was given double_fcn, which is decorated: build"):
        zoo.get(Spec(decorated(double_fcn), SMALL, SHORT), [0], root=tmp_path, device="cpu")


def test_the_zoo_tells_other_images_apart(tmp_path):
    spec = Spec("myrtle", SMALL, NOTHING, MYRTLE)
    other = replace(spec, data=replace(SMALL, images=SMALL.images * 2))
    for each in (spec, other, replace(spec, data=replace(SMALL, name="renamed"))):
        zoo.get(each, [0], root=tmp_path, device="cpu")
    assert len(list(tmp_path.rglob("*.safetensors"))) == 2


def test_the_version_stands_for_these_numbers():
    """A change in the numbers, far beyond rounding, asks for a new VERSION: then write the new ones here."""
    recipe = replace(RECIPES["fast"], epochs=1, lr=0.01, batch_size=20, dtype="float32")
    history = train(models.resnet20(2, in_channels=1, seed=1), SMALL, recipe, seed=2, device="cpu").history
    assert VERSION == 1
    assert history["loss"].item() == pytest.approx(3.2881, abs=2e-3)


# --- in which way ---


def test_in_turn_is_one_after_another():
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    events: list = []
    trained = train_many(spec, [0, 1, (0, 1)], device="cpu", way="in turn", progress=events.append)
    for (init, order), one in zip(PAIRS, trained, strict=True):
        alone = train(models.myrtle(**MYRTLE, seed=init), SMALL, SHORT, seed=order, device="cpu")
        assert same(one.network, alone.network) and one.seed == order
        assert one.history["loss"].equals(alone.history["loss"])
    assert [event.done for event in events] == list(range(1, 10))
    assert {event.total for event in events} == {9} and events[-1].left_s == 0
    assert not same(trained[0].network, trained[2].network)  # other order, same initialisation


@pytest.mark.parametrize("name", ["fast", "godfrey2022", "digits"])
def test_stacked_networks_are_those_trained_alone(name):
    recipe = replace(RECIPES[name], epochs=3, batch_size=30, dtype="float32")
    spec = Spec(double_fcn, SMALL, recipe, {"hidden": 5})
    stacked = train_many(spec, [0, 1, (0, 1)], device="cpu", way="stacked")
    alone = train_many(spec, [0, 1, (0, 1)], device="cpu", way="in turn")
    for one, other in zip(stacked, alone, strict=True):
        for x, y in zip(one.network.parameters(), other.network.parameters(), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-8, atol=1e-10)
        columns = ["epoch", "lr", "loss", "accuracy"]
        torch.testing.assert_close(
            torch.tensor(one.history[columns].values), torch.tensor(other.history[columns].values)
        )
        assert one.seed == other.seed and not one.network.training


def test_stacked_convolutions_are_those_trained_alone():
    spec = Spec("myrtle", SMALL, replace(SHORT, dtype="float32"), MYRTLE | {"norm": False})
    for one, other in zip(
        train_many(spec, [0, 1], device="cpu", way="stacked"),
        train_many(spec, [0, 1], device="cpu", way="in turn"),
        strict=True,
    ):
        for x, y in zip(one.network.parameters(), other.network.parameters(), strict=True):
            torch.testing.assert_close(x, y, rtol=1e-2, atol=1e-3)  # Adam enlarges float32's rounding


def test_processes_train_bitwise_the_same_networks(two_threads):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    events: list = []
    apart = train_many(spec, [0, 1, (0, 1)], device="cpu", progress=events.append)
    assert [event.done for event in events] == [3, 6, 9]
    torch.set_num_threads(1)  # what each of two processes had
    assert all_same(apart, train_many(spec, [0, 1, (0, 1)], device="cpu"))


@pytest.mark.filterwarnings("default")  # of the cluster, not ours
def test_threads_are_parted_among_the_networks_asked_for_not_those_missing(monkeypatch, tmp_path):
    spec, given = Spec("myrtle", SMALL, NOTHING, MYRTLE), []

    def work(spec, images, labels, seed, threads, checkpoint):
        given.append(threads)
        return many_work(spec, images, labels, seed, 1, checkpoint)

    many_work = many._work
    monkeypatch.setattr(many, "_work", work)
    monkeypatch.setattr(many, "Parallel", lambda **_: lambda calls: (f(*args) for f, args, _ in calls))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 6)
    for seeds in ([0, 1], [0, 1, 2], [0, 1, 3], [5]):
        zoo.get(spec, seeds, root=tmp_path, device="cpu", way="processes")
    assert given == [3, 3, 2, 2, 6]


def test_a_process_trains_with_its_threads_and_gives_them_back():
    seen = []

    def spying(seed: int) -> nn.Module:
        seen.append(torch.get_num_threads())
        return models.myrtle(**MYRTLE, seed=seed)

    before = torch.get_num_threads()
    arrays = SMALL.images.numpy().copy(), SMALL.labels.numpy().copy()
    for array in arrays:
        array.flags.writeable = False  # as it comes from a cluster
    empty = replace(SMALL, images=SMALL.images[:0], labels=SMALL.labels[:0])
    seed, trained = many._work(Spec(spying, empty, NOTHING), *arrays, (0, 1), before + 1, None)
    assert seen == [before + 1] and torch.get_num_threads() == before and seed == (0, 1)
    assert trained.seed == 1


def test_a_dask_cluster_trains_bitwise_the_same_networks():
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        there = train_many(spec, [0, 1, (0, 1)], device="cpu")
        executed = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert len(executed) == 2 and sum(executed.values()) >= 3
    here = train_many(spec, [0, 1, (0, 1)], device="cpu", way="in turn")
    assert all_same(there, here)


def test_stacking_pays_for_little_work_without_batch_norm():
    def pays(architecture, recipe=RECIPES["digits"], **arguments):
        return stacking_pays(Spec(architecture, DIGITS, recipe, arguments))

    assert pays(double_fcn)
    assert pays("myrtle", width=2, norm=False, in_channels=1)
    assert not pays("myrtle", width=16, norm=False, in_channels=1)
    assert not pays("myrtle", width=2, norm=True, in_channels=1)
    assert not pays(lambda seed: nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(64, 10)))
    state = torch.get_rng_state()
    assert not pays(Functional)
    assert torch.equal(state, torch.get_rng_state())


def test_the_way_is_chosen_by_rule(monkeypatch):
    ways = []

    def plan(*arguments):
        ways.append(many_plan(*arguments)[0])
        return "in turn", 1

    many_plan = many._plan
    monkeypatch.setattr(many, "_plan", plan)
    tiny, normed = Spec(double_fcn, SMALL, NOTHING), Spec("myrtle", SMALL, NOTHING, MYRTLE)
    for spec, seeds, threads in ((tiny, 4, 2), (tiny, 3, 2), (normed, 4, 2), (normed, 4, 1), (normed, 1, 2)):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        train_many(spec, list(range(seeds)), device="cpu")
    assert ways == ["stacked", "processes", "processes", "in turn", "in turn"]


# --- the zoo ---


def test_the_zoo_trains_what_is_missing_and_finds_the_rest(tmp_path):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    events: list = []

    def get(seeds, **changes):
        events.clear()
        return zoo.get(replace(spec, **changes), seeds, root=tmp_path, device="cpu", progress=events.append)

    first = get([0, (0, 1)])
    assert (len(events), events[-1].total) == (6, 6)
    again = get([(0, 1), 1, 0, 1])
    assert (len(events), events[-1].total) == (3, 3)
    assert same(first[0].network, again[2].network) and same(first[1].network, again[0].network)
    assert same(again[1].network, again[3].network)
    assert first[0].history.equals(again[2].history) and (again[0].seed, again[1].seed) == (1, 1)
    alone = train_many(spec, [0, (0, 1), 1], device="cpu")
    assert all_same(alone, [*first, again[1]])
    assert evaluate(first[0].network, SMALL.images, SMALL.labels) > 0.2
    get([0], recipe=replace(SHORT, epochs=1))
    assert len(events) == 1
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock")
    assert names == ["0-0.safetensors", "0-0.safetensors", "0-1.safetensors", "1-1.safetensors"]


def test_an_interrupted_zoo_goes_on_where_it_was(tmp_path):
    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)

    def interrupt(event):
        if event.done == 5:  # the second network's second epoch
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zoo.get(spec, [0, 1, 2], root=tmp_path, device="cpu", progress=interrupt)
    events: list = []
    resumed = zoo.get(spec, [0, 1, 2], root=tmp_path, device="cpu", progress=events.append)
    assert [(event.done, event.resumed) for event in events] == [(2, 2), (3, 2), (4, 2), (5, 2), (6, 2)]
    assert events[2].left_s == pytest.approx(events[2].seconds)  # two epochs done in this run, two to do
    whole = train_many(spec, [0, 1, 2], device="cpu", way="in turn")
    assert all_same(resumed, whole)
    assert not list(tmp_path.rglob("*.checkpoint"))


def test_two_runs_at_once_train_once(tmp_path):
    spec, events = Spec("myrtle", SMALL, SHORT, MYRTLE), []
    got: dict[int, list] = {}

    def run(k: int) -> None:
        got[k] = zoo.get(spec, [0], root=tmp_path, device="cpu", progress=events.append)

    threads = [threading.Thread(target=run, args=(k,)) for k in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(events) == 3 and same(got[0][0].network, got[1][0].network)


def test_where_the_zoo_lies(tmp_path, monkeypatch):
    spec = Spec("myrtle", SMALL, NOTHING, MYRTLE)
    monkeypatch.setenv("INTERTWINE_DATA", str(tmp_path))
    monkeypatch.delenv("INTERTWINE_ZOO", raising=False)
    zoo.get(spec, [0], device="cpu")
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "elsewhere"))
    zoo.get(spec, [0], device="cpu")
    zoo.get(spec, [0], device="cpu", root=tmp_path / "given")
    folder = f"myrtle-{spec.digest()[:16]}/0-0.safetensors"
    assert all((tmp_path / name / folder).is_file() for name in ("zoo", "elsewhere", "given"))


def test_a_file_of_the_zoo_says_what_it_is(tmp_path):
    from safetensors import safe_open

    spec = Spec("myrtle", SMALL, SHORT, MYRTLE)
    zoo.get(spec, [0], root=tmp_path, device="cpu")
    (path,) = tmp_path.rglob("*.safetensors")
    with safe_open(path, framework="pt") as file:
        facts = json.loads(file.metadata()["facts"])
    assert facts["architecture"] == "myrtle" and facts["arguments"] == MYRTLE
    assert facts["recipe"]["lr"] == SHORT.lr and facts["data"]["checksum"] == SMALL.checksum
    assert facts["torch"] == torch.__version__ and facts["device"] == "cpu"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(
        OSError, match=r"0-0.safetensors is damaged or was not written here \(.*\): delete it"
    ):
        zoo.get(spec, [0], root=tmp_path, device="cpu")


# --- mistakes ---


def test_mistakes_are_said_in_one_sentence_before_any_work(tmp_path):
    def attempt(match: str, error=ValueError, spec=None, **options) -> None:
        spec = spec or Spec("myrtle", SMALL, SHORT, MYRTLE)
        for train_them in (train_many, zoo_get):
            with pytest.raises(error, match=match) as raised:
                train_them(spec, **({"seeds": [0, 1], "device": "cpu"} | options), progress=forbidden)
            assert "\n" not in str(raised.value)

    def zoo_get(*arguments, **options):
        return zoo.get(*arguments, root=tmp_path, **options)

    def forbidden(event):
        raise AssertionError("work was done")

    attempt("Expected way to be auto, stacked, processes or in turn, was given 'fast'", way="fast")
    attempt("was given .1, 1, 8, 8.", spec=Spec("myrtle", SMALL, SHORT, {"width": 2}))
    attempt("labels from 0 to 9", spec=Spec("myrtle", SMALL, SHORT, MYRTLE | {"classes": 3}))
    attempt(
        "Expected networks without batch norm and dropout to stack, was given myrtle with them", way="stacked"
    )
    if not torch.cuda.is_available():
        attempt("Expected a device that this machine has, was given 'cuda'", device="cuda")
    with pytest.raises(
        ValueError, match=r"Expected an architecture out of .*, was given 'mrytle'; did you mean 'myrtle'"
    ):
        Spec("mrytle", SMALL, SHORT)
    attempt(
        r"Expected seedless to take the keywords hidden, seed: .*'hidden'; write a function that does",
        error=TypeError,
        spec=Spec(seedless, SMALL, SHORT, {"hidden": 3}),
    )
    with pytest.raises(TypeError, match="JSON"):
        zoo_get(Spec("myrtle", SMALL, SHORT, MYRTLE | {"activation": nn.Tanh}), [0], device="cpu")


def test_an_empty_list_of_seeds_is_an_empty_list_of_networks(tmp_path):
    spec = Spec("myrtle", SMALL, Recipe(epochs=1, batch_size=10, lr=0.1), MYRTLE)
    assert train_many(spec, [], device="cpu") == zoo.get(spec, [], root=tmp_path, device="cpu") == []
