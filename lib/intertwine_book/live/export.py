"""Trained networks and digits, as the data that the instruments of a page run on."""

import base64
from collections.abc import Callable
from copy import deepcopy
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from intertwine.data import Dataset

N = TypeVar("N", bound=nn.Module)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
_WRITTEN: dict[str, str] = {
    "weight": "weight",
    "bias": "bias",
    "scale": "weight",
    "shift": "bias",
    "mean": "running_mean",
    "variance": "running_var",
}


def exported(network: nn.Sequential) -> dict[str, Any]:
    """The layers of a network, and its weights as float16 in base64: what `engine.js` runs.

    Example:
        >>> small = exported(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
        >>> [layer["kind"] for layer in small["layers"]]
        ['linear', 'activation']
        >>> len(base64.b64decode(small["weights"]))  # two bytes a number
        18

    The layers have the names of the modules (`of`). Supported are convolutions with stride 1 that keep the
    size of an image, linear layers, batch norm, layer norm over features, ReLU, leaky ReLU, |x| as a leaky
    ReLU of slope −1, tanh, sigmoid, GELU, identity, max pooling, flattening and softmax. What the page
    computes is `rounded(network)`, in evaluation mode.

    Raises:
        ValueError: a module that the page cannot run.
    """
    layers, numbers = [], []
    for name, module in network.named_children():
        layer, keys = _layer(name, module)
        shapes = {}
        for key in keys:
            value = getattr(module, _WRITTEN[key])
            shapes[key] = list(value.shape)
            numbers.append(value.detach().cpu().half().flatten())
        layers.append({"of": name, **layer, **({"shapes": shapes} if shapes else {})})
    weights = torch.cat(numbers).numpy().tobytes() if numbers else b""
    return {"layers": layers, "weights": base64.b64encode(weights).decode()}


def rounded(network: N) -> N:
    """A copy of a network in evaluation mode, with the weights that a page has: rounded to float16.

    Example:
        >>> tenth = nn.Linear(1, 1, bias=False)
        >>> nn.init.constant_(tenth.weight, 0.1)
        Parameter containing:
        tensor([[0.1000]], requires_grad=True)
        >>> rounded(tenth).weight.item()
        0.0999755859375
    """
    made = deepcopy(network).eval()
    for value in (*made.parameters(), *made.buffers()):
        if value.is_floating_point():
            value.data = value.data.half().to(value.dtype)
    return made


def exported_digits(*parts: Dataset) -> dict[str, Any]:
    """The digits of several data sets, one after another: grey values as whole numbers in base64, and labels.

    Example:
        >>> from intertwine_book import data
        >>> test = data.load("digits", "test", device="cpu")[:20]
        >>> len(base64.b64decode(exported_digits(test)["pixels"])), exported_digits(test)["side"]
        (1280, 8)

    A pixel of the page is `shift` plus `scale` times the whole number, 0 to 16, of the data set's file.

    Raises:
        ValueError: images that do not have 17 evenly spaced grey values.
    """
    images = torch.cat([part.images for part in parts]).double().cpu()
    shift, top = images.min().item(), images.max().item()
    scale = (top - shift) / 16
    exact = (images - shift) / scale
    pixels = exact.round().to(torch.uint8)
    if (exact - pixels).abs().max() > 1e-3:
        raise ValueError(
            "Expected digits, whose pixels have 17 evenly spaced grey values: take data.load('digits')."
        )
    return {
        "pixels": base64.b64encode(pixels.numpy().tobytes()).decode(),
        "side": images.shape[-1],
        "shift": shift,
        "scale": scale,
        "labels": torch.cat([part.labels for part in parts]).tolist(),
    }


def from_page(tensor: dict[str, Any]) -> Float[Tensor, "n c h w"]:
    """A tensor of `engine.js`, as torch has it.

    Example:
        >>> from_page({"c": 2, "s": 1, "n": 3, "d": [0, 1, 2, 3, 4, 5]}).flatten(1)
        tensor([[0., 3.],
                [1., 4.],
                [2., 5.]], dtype=torch.float64)
    """
    c, s, n = (tensor[key] for key in "csn")
    return torch.tensor(tensor["d"], dtype=torch.float64).view(s, s, c, n).permute(3, 2, 0, 1)


def _layer(name: str, module: nn.Module) -> tuple[dict[str, Any], list[str]]:
    """The description of a layer, and the arrays of numbers that it has."""
    for kinds, describe in _LAYERS:
        if isinstance(module, kinds) and (found := describe(module)) is not None:
            return found
    raise ValueError(
        f"Expected layers that a page can run, was given {name!r}, {module}: `exported` lists those."
    )


def _linear(module: Any) -> tuple[dict[str, Any], list[str]]:
    return {"kind": "linear"}, ["weight"] if module.bias is None else ["weight", "bias"]


def _convolution(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    k = module.kernel_size[0]
    kept = module.padding == (k // 2, k // 2) and module.kernel_size == (k, k) and k % 2
    if not kept or module.stride != (1, 1) or module.groups != 1 or module.dilation != (1, 1):
        return None
    return {"kind": "convolution"}, _linear(module)[1]


def _batch_norm(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    if not module.affine or not module.track_running_stats:
        return None
    return {"kind": "batch norm", "eps": module.eps}, ["scale", "shift", "mean", "variance"]


def _layer_norm(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    if module.bias is None or len(module.normalized_shape) != 1:
        return None
    return {"kind": "layer norm", "eps": module.eps}, ["scale", "shift"]


def _activation(name: str) -> Callable[[Any], tuple[dict[str, Any], list[str]]]:
    return lambda module: ({"kind": "activation", "name": name}, [])


def _leaky(module: Any) -> tuple[dict[str, Any], list[str]]:
    return {"kind": "activation", "name": "leaky", "slope": module.negative_slope}, []


def _gelu(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    return _activation("gelu")(module) if module.approximate == "none" else None


def _pool(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    alone = module.stride == module.kernel_size and module.padding == 0 and module.dilation == 1
    return ({"kind": "pool", "size": module.kernel_size}, []) if alone and not module.ceil_mode else None


def _whole_pool(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    return ({"kind": "pool", "size": 0}, []) if module.output_size in (1, (1, 1)) else None


def _flatten(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    return ({"kind": "flatten"}, []) if module.start_dim == 1 and module.end_dim == -1 else None


def _softmax(module: Any) -> tuple[dict[str, Any], list[str]] | None:
    return ({"kind": "softmax"}, []) if module.dim in (1, -1) else None


_LAYERS: list[tuple[Any, Callable[[Any], tuple[dict[str, Any], list[str]] | None]]] = [
    (nn.Linear, _linear),
    (nn.Conv2d, _convolution),
    (_NORMS, _batch_norm),
    (nn.LayerNorm, _layer_norm),
    (nn.ReLU, _activation("relu")),
    (nn.LeakyReLU, _leaky),
    (nn.Tanh, _activation("tanh")),
    (nn.Sigmoid, _activation("sigmoid")),
    (nn.Identity, _activation("identity")),
    (nn.GELU, _gelu),
    (nn.MaxPool2d, _pool),
    (nn.AdaptiveMaxPool2d, _whole_pool),
    (nn.Flatten, _flatten),
    (nn.Softmax, _softmax),
]
