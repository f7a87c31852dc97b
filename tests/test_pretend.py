"""What a GPU refuses, allows and computes: laws of CUDA that the pretended one keeps as well."""

import copy
import io

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU"),
]
pretended = pytest.mark.skipif(
    torch.cuda.is_available() and torch.cuda.get_device_name() != "pretended",
    reason="a GPU does not raise here: it computes nonsense, or races",
)
HOST = torch.ones(3, 4)


@pytest.fixture
def x() -> Tensor:
    return torch.arange(12.0).view(3, 4).to("cuda")


def network() -> nn.Sequential:
    layers = [
        nn.Conv2d(2, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 3),
    ]
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


REFUSED = {
    "elementwise": lambda x: x + HOST,
    "comparison": lambda x: x > HOST,
    "matrices": lambda x: x @ HOST.T,
    "NumPy mixed in": lambda x: x * torch.from_numpy(np.ones((3, 4), np.float32)),
    "concatenation": lambda x: torch.cat([x, HOST]),
    "stacking with a number": lambda x: torch.stack([x.sum(), torch.zeros(())]),
    "two numbers": lambda x: torch.addcmul(x, torch.ones(()), torch.ones(())),
    "gather": lambda x: x.gather(1, torch.zeros(3, 1, dtype=torch.int64)),
    "index_select": lambda x: x.index_select(0, torch.tensor([0])),
    "values into it": lambda x: x.__setitem__(torch.tensor([0, 1]), HOST[:2]),
    "into a number of the CPU": lambda x: torch.zeros(()).add_(x.sum()),
    "a network left behind": lambda x: nn.Linear(4, 2)(x),
    "a convolution left behind": lambda x: nn.Conv2d(1, 1, 1)(x[None, None]),
    "labels left behind": lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2])),
    "lists": lambda x: torch._foreach_add([x], [HOST]),
    "where": lambda x: torch.where(HOST > 0, x, x),
    "equal": lambda x: torch.equal(x.sum(), torch.zeros(())),
    "solve": lambda x: torch.linalg.solve(x[:, :3], HOST[:, :3]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_lie_on_one_device(name, x):
    with pytest.raises(RuntimeError, match="same device"):
        REFUSED[name](x)


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda x: HOST[x[:, 0].long() % 3], "indices should be either on (the )?cpu"),
        (lambda x: torch.randn(3, device="cuda", generator=torch.Generator()), "'cuda' device type"),
        (lambda x: x.normal_(generator=torch.Generator()), "'cuda' device type"),
        (lambda x: torch.randn(3, generator=torch.Generator("cuda")), "'cpu' device type"),
        (lambda x: torch.randperm(3, generator=torch.Generator("cuda")), "'cpu' device type"),
        (lambda x: x.numpy(), "can't convert cuda:0"),
        (lambda x: np.asarray(x), "can't convert cuda:0"),
        (lambda x: x.long() @ x.long().T, "not implemented for"),
        (lambda x: torch.einsum("ij,j->i", x.long(), x[0].long()), "not implemented for"),
        (lambda x: torch.linalg.lstsq(x, x, driver="gelsd"), "should be one of"),
        (lambda x: torch.empty(0, device="cuda:99"), "invalid device ordinal"),
        pytest.param(lambda x: torch.linalg.lstsq(x.T, x.T), "full rank", marks=pretended),  # of rank 2
        pytest.param(lambda x: x.to("cpu", non_blocking=True), "does not wait", marks=pretended),
    ],
)
def test_what_a_gpu_refuses(refused, words, x):
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=words):
        refused(x)


@pytest.mark.parametrize(
    "allowed",
    [
        lambda x: x + torch.tensor(2.0),
        lambda x: torch.tensor(2.0) * x,
        lambda x: torch.zeros(()) + x.sum(),
        lambda x: x % 5,
        lambda x: x[torch.tensor([0, 2])],
        lambda x: x[torch.tensor([True, False, True])],
        lambda x: x.index_put_((torch.tensor([0]),), torch.tensor(5.0)),
        lambda x: torch.where(x > 3, x, torch.tensor(0.0)),
        lambda x: x.masked_fill(x > 3, torch.tensor(0.0)),
        lambda x: x.copy_(HOST),
        lambda x: torch.linalg.lstsq(x[:, :2], x).solution,
        lambda x: torch.randperm(5, device="cuda", generator=torch.Generator("cuda").manual_seed(0)),
    ],
)
def test_what_a_gpu_allows(allowed, x):
    assert allowed(x).device == torch.device("cuda", 0)


def test_numbers_come_back(x):
    assert x.is_cuda and x.sum().item() == 66 and x.cpu().numpy().sum() == 66 and x.tolist()[2][3] == 11
    assert torch.equal(copy.deepcopy(x), x) and torch.equal(x.cpu(), torch.arange(12.0).view(3, 4))


def test_views_share_memory_and_results_may_change_their_shape(x):
    x.T[1].zero_()
    assert x[:, 1].sum().item() == 0 and x[1:].untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    out = torch.empty(0, device="cuda")
    torch.add(x, 1, out=out)
    assert out.shape == (3, 4) and x.t_().shape == (4, 3) and torch.equal(out.T, x + 1)


def trained(device: str, **options: bool | float) -> list[Tensor]:
    torch.manual_seed(0)
    model, images, labels = network().to(device), torch.randn(20, 2, 8, 8).to(device), torch.arange(20) % 3
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, **options)
    for _ in range(3):
        optimiser.zero_grad()
        F.cross_entropy(model(images), labels.to(device)).backward()
        optimiser.step()
    return [model.eval()(images).detach().cpu(), *(each.cpu() for each in model.state_dict().values())]


@pytest.mark.parametrize("options", [{"momentum": 0.9, "nesterov": True}, {"fused": True}, {"foreach": True}])
def test_a_training_is_that_of_the_cpu(options, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    for here, there in zip(trained("cpu", **options), trained("cuda", **options), strict=True):
        assert torch.allclose(here, there, atol=1e-4)


def test_a_convolution_keeps_ten_bits_unless_told_otherwise(monkeypatch):
    draw = torch.Generator().manual_seed(0)
    images, weight = torch.randn(4, 16, 9, 9, generator=draw), torch.randn(8, 16, 3, 3, generator=draw)
    here = F.conv2d(images, weight)
    errors = []
    for allowed in (True, False):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", allowed)
        there = F.conv2d(images.cuda(), weight.cuda()).cpu()
        errors.append(((here - there).abs().max() / here.abs().max()).item())
    assert 1e-5 < errors[0] < 2e-3 and errors[1] < 2e-6


def test_autocast_derivatives_and_files(x):
    with torch.autocast("cuda", torch.bfloat16):
        assert (x @ x.T).dtype == torch.bfloat16
    cubes = torch.func.grad(lambda row: (row**3).sum())
    hessians = torch.func.vmap(torch.func.jacrev(cubes))(x)
    assert torch.equal(hessians, torch.diag_embed(6 * x))
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=True)["x"], x)


def test_a_seed_of_the_gpu_is_its_own():
    before = torch.get_rng_state()
    with torch.random.fork_rng([torch.device("cuda")], device_type="cuda"):
        torch.cuda.manual_seed(1)
        first = torch.rand(3, device="cuda")
        torch.cuda.manual_seed(1)
        assert torch.equal(torch.rand(3, device="cuda"), first)
    assert torch.equal(torch.get_rng_state(), before)
