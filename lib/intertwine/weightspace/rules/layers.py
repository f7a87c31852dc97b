"""Rules of layers whose weights are not only multiplied: convolutions, PReLU, embeddings."""

from intertwine.weightspace.rules.axes import Axis, Label, plain, resolve, units
from intertwine.weightspace.rules.entries import meet, product
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, bind, rule
from intertwine.weightspace.rules.regroup import divide
from intertwine.weightspace.trace.run import Call


@rule("conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d", layer=True)
def convolution(state: Inference, call: Call) -> Label:
    out_axis = int("transpose" in call.name)  # a transposed convolution stores (inputs, outputs, …)
    last = "output_padding groups dilation" if out_axis else "dilation groups"
    a = bind(call, f"input weight bias stride padding {last}", groups=1)
    x, weight, groups = state.of(a["input"]), state.of(a["weight"]), a["groups"] or 1
    state.reads(a["weight"], 1 - out_axis)
    if len(x) != len(weight):
        raise NotUnderstood("an input without batch axis")
    # a kernel reads neighbours, so that pixels and its own entries keep their order
    state.freeze(x[2:], f"space of a {call.name}")
    state.freeze(weight[2:], f"kernel of a {call.name}")
    y_shape, channels = state.shape(call.results[0]), state.shape(a["input"])[1]
    if groups == 1:
        state.unify(x[1], weight[1 - out_axis], -1, f"read by {call.name}")
        y = weight[out_axis]
    elif groups == channels == y_shape[1]:
        # W of shape (channels, 1, …) multiplies channel by channel
        y = product(state, x[1], weight[0], call.name, call.name)
    else:
        if out_axis == 1:
            raise NotUnderstood("groups of a transposed convolution")
        y = _grouped(state, x[1], weight, groups, call.name)
    label = (x[0], resolve(y), *(plain(n) for n in y_shape[2:]))
    if a["bias"] is None:
        return label
    bias = (*state.of(a["bias"]), *(plain(1) for _ in y_shape[2:]))
    return meet(state, label, bias, f"bias of {call.name}")


def _grouped(state: Inference, x: Axis, weight: Label, groups: int, name: str) -> Axis:
    """A grouped convolution: its blocks of channels move as blocks, and within themselves.

    Where outputs move within their block, the scalars are theirs alone (`Ties.settle_blocks`): of a depthwise
    convolution with several outputs for a channel, the scalars of its inputs are missed.
    """
    xs, ws = divide(state, x, groups), divide(state, weight[0], groups)
    if xs is None or ws is None:
        state.freeze((x, *weight), f"{name} whose groups are not whole blocks of units")
        return resolve(weight[0])
    state.mix((x, weight[0]), f"grouped {name}")
    # a block of outputs is multiplied by what multiplies its block of inputs, and by what multiplies its rows
    blocks = product(state, xs[0], ws[0], f"grouped {name}", f"groups of {name}")
    for factor, block in zip(units(weight[1]), units(ws[0]), strict=False):
        factor.space.base = block.space  # the columns of W lie in the blocks of its rows
    state.unify(xs[1], weight[1], -1, f"read by grouped {name}")
    (outer,), (inner,) = resolve(blocks), resolve(ws[1])
    return ((*outer, *inner),)


@rule("prelu")
def prelu(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight")
    x, slope = state.of(a["input"]), state.of(a["weight"])
    state.permute_only(x, "prelu", log=False)
    if state.shape(a["weight"]) != (1,):
        state.unify(x[1], slope[0], None, "slopes of prelu")
        state.trivial(slope)  # a slope goes with its unit, but a multiple of it is another function
    return x


@rule("embedding", layer=True)
def embedding(state: Inference, call: Call) -> Label:
    a = bind(call, "input weight padding_idx max_norm norm_type scale_grad_by_freq sparse")
    if a["max_norm"] is not None:
        raise NotUnderstood("renormalises its weight")
    weight = state.of(a["weight"])
    state.freeze(weight[:1], "rows of a table")  # words are called by number
    return (*state.of(a["input"]), weight[1])
