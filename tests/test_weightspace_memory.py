"""Memory: weights are moved one at a time, large ones part by part, and come out as they were laid out."""

from collections.abc import Callable
from itertools import accumulate

import pytest
import torch
import weightspace_models as zoo
from helpers import generator, randomise
from torch import nn
from torch.profiler import ProfilerActivity, profile

from intertwine.weightspace import canonicalise, find_symmetries, match, prune, transform_outputs
from intertwine.weightspace.act import action
from intertwine.weightspace.uses import match as matching
from intertwine.weightspace.uses import rows

TOKENS = torch.tensor([[1, 4, 0, 10, 3]])
MODELS = {
    "llama": lambda: zoo.Llama(words=2000, width=64),
}
USES = {
    "act": lambda space, one, other, element: space.act(one, element),
    "canonicalise": lambda space, one, other, element: canonicalise(space, one).model,
    "match": lambda space, one, other, element: match(space, one, other).model,
}


def peak(function: Callable[[], object]) -> int:
    """The largest number of bytes of torch at a time, beside those that there were before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        function()
    events = record.profiler.kineto_results.events()
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    return max(accumulate(size for _, size in changes))


def test_the_peak_is_that_of_what_is_held_at_a_time():
    def held():
        x = torch.zeros(1000)
        del x
        return torch.zeros(500) + torch.zeros(500)

    assert peak(held) == 3 * 500 * 4


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", MODELS)
def test_a_use_takes_less_than_three_times_the_weights_with_its_result(name, use, monkeypatch):
    for module in (action, matching, rows):
        monkeypatch.setattr(module, "ROOM", 2**12)
    one = randomise(MODELS[name](), generator()).float()
    space = find_symmetries(one, TOKENS, check=False)
    element = space.sample(generator(1))
    other = space.act(one, element)
    weights = sum(x.numel() * x.element_size() for x in one.parameters())
    assert peak(lambda: USES[use](space, one, other, element)) < 3 * weights


@pytest.mark.parametrize("name", MODELS)
def test_parts_are_moved_as_the_whole(name, monkeypatch):
    model = randomise(MODELS[name](), generator())
    space = find_symmetries(model, TOKENS, check=False)
    whole = space.act(model, space.sample(generator(1)))
    for module in (action, matching, rows):
        monkeypatch.setattr(module, "ROOM", 2**8)
    parts = space.act(model, space.sample(generator(1)))
    for x, y in zip(parts.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-12, atol=1e-12)
    for x, y in zip(match(space, model, parts).model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-9, atol=1e-9)


LAYOUTS = {
    "matrices": (lambda: nn.Sequential(nn.Linear(4, 5), nn.RMSNorm(5), nn.Linear(5, 3)), torch.ones(1, 4)),
    "heads and groups": (zoo.Llama, TOKENS),
    "channels last": (
        lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3)).to(
            memory_format=torch.channels_last
        ),
        torch.ones(1, 2, 6, 6),
    ),
}


@pytest.mark.parametrize("use", [*USES, "state dict"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_weights_that_were_moved_are_laid_out_as_before(name, use):
    build, x = LAYOUTS[name]
    one = build().eval()
    space = find_symmetries(one, x, check=False)
    element = space.sample(generator(1))
    if use == "state dict":
        moved = space.act(one.state_dict(), element)
    else:
        moved = USES[use](space, one, space.act(one, element), element).state_dict()
    assert {k: x.stride() for k, x in moved.items()} == {k: x.stride() for k, x in one.state_dict().items()}
    memory = {x.untyped_storage().data_ptr() for x in one.parameters()}
    assert use == "state dict" or memory.isdisjoint(x.untyped_storage().data_ptr() for x in moved.values())


def test_a_pruned_network_keeps_its_memory_format():
    build, x = LAYOUTS["channels last"]
    model = build().eval()
    small = prune(find_symmetries(model, x), model, {0: [2, 0]}, x)
    assert small[2].weight.shape == (2, 2, 3, 3) and small[0].weight.shape == (2, 2, 3, 3)
    assert all(small[k].weight.is_contiguous(memory_format=torch.channels_last) for k in (0, 2))


def test_a_table_whose_columns_are_mixed_keeps_its_layout():
    model = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 3)).eval()
    space = find_symmetries(model, torch.arange(7))
    mixed = transform_outputs(space, model, {"0": torch.randn(4, 4, generator=generator(0))})
    assert mixed[0].weight.is_contiguous() and not torch.equal(mixed[0].weight, model[0].weight)


def test_what_an_element_does_not_move_is_a_copy_too():
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    space = find_symmetries(model, torch.randn(5, 3))
    moved = space.act(model, space.identity())
    memory = {x.data_ptr() for x in model.parameters()}
    assert memory.isdisjoint(x.data_ptr() for x in moved.parameters())
