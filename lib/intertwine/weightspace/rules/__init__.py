"""Second phase: what each operation says about the axes of its arguments.

In: a `Run`.
Out: an `Inference`. It holds a label for every value, with one `Axis` for each axis of its tensor, and the
constraints between the spaces in these labels.

Every axis of every parameter starts as a space of its own: its units may change places, be multiplied by
numbers, or be mixed by any matrix. A rule takes one call, in the order of the run. It joins spaces (units
that are added move together), cuts them (a slice, a reshape), restricts them (ReLU allows positive factors
only) or freezes them (an axis that meets the input), and returns the labels of the results. A call without
a rule is tried as an activation; if it is none, the axes that it touches are frozen. So the group may turn
out too small, never too large.

Read in this order:

1. `axes`: spaces, and axes as sequences of them; no constraint yet.
2. `ties`: the constraints: join, cut, restrict, freeze.
3. `infer`: follows the run and calls the rules. `infer` is the entrance, `@rule("names")` registers a rule.
4. `entries` and `regroup`: what many rules share, entry by entry and across reshapes.
5. `elementwise`, `products`, `layers`: activations, matrix products, convolutions. These rules explain an
   MLP.
6. `arithmetic`, `shapes`, `views`, `indexing`, `shuffles`, `norms`, `recurrent`: the other operations.

Python imports this file before any file of the folder. It imports all rules, so each of them is registered.

Operations that have a rule, by file. Operators, methods and calls in place have the rule of the function, and
any other function of one tensor is tried as an activation.

- arithmetic: ``add``, ``sub``, ``subtract``, ``rsub``, ``mul``, ``multiply``, ``div``, ``true_divide``,
  ``divide``, ``maximum``, ``minimum``, ``fmax``, ``fmin``, ``max_pool1d``, ``max_pool2d``, ``max_pool3d``,
  ``adaptive_max_pool1d``, ``adaptive_max_pool2d``, ``adaptive_max_pool3d``, ``avg_pool1d``, ``avg_pool2d``,
  ``avg_pool3d``, ``adaptive_avg_pool1d``, ``adaptive_avg_pool2d``, ``adaptive_avg_pool3d``, ``interpolate``,
  ``mean``, ``sum``, ``nanmean``, ``nansum``, ``amax``, ``amin``, ``max``, ``min``, ``argmax``, ``argmin``,
  ``median``, ``prod``, ``logsumexp``, ``var``, ``std``, ``norm``, ``any``, ``all``, ``count_nonzero``,
  ``softmax``, ``log_softmax``, ``tril``, ``triu``, ``where``, ``masked_fill``, ``lerp``, ``gt``, ``lt``,
  ``ge``, ``le``, ``eq``, ``ne``, ``greater``, ``less``, ``not_equal``, ``pow``, ``clamp``, ``clamp_min``,
  ``clamp_max``, ``clip``, ``fmod``, ``remainder``, ``atan2``, ``hypot``, ``addcmul``, ``addcdiv``,
  ``logaddexp``, ``xlogy``, ``floor_divide``, ``copysign``, ``isclose``, ``logical_and``, ``logical_or``,
  ``logical_xor``, ``bitwise_and``, ``bitwise_or``, ``bitwise_xor``
- elementwise: ``glu``
- views: ``permute``, ``transpose``, ``swapaxes``, ``swapdims``, ``movedim``, ``moveaxis``, ``t``, ``T``,
  ``mT``, ``split``, ``chunk``, ``tensor_split``, ``split_with_sizes``, ``narrow``, ``unbind``, ``select``,
  ``expand``, ``expand_as``, ``broadcast_to``
- indexing: ``index_select``, ``gather``, ``scatter``, ``scatter_add``, ``scatter_reduce``, ``index_add``,
  ``index_copy``
- layers: ``conv1d``, ``conv2d``, ``conv3d``, ``conv_transpose1d``, ``conv_transpose2d``,
  ``conv_transpose3d``, ``prelu``, ``embedding``
- products: ``linear``, ``matmul``, ``addmm``, ``baddbmm``, ``grouped_mm``, ``mm``, ``spmm``, ``bmm``, ``mv``,
  ``dot``, ``vdot``, ``outer``, ``einsum``, ``tensordot``, ``bilinear``, ``scaled_dot_product_attention``
- norms: ``batch_norm``, ``layer_norm``, ``rms_norm``, ``normalize``, ``cosine_similarity``, ``group_norm``,
  ``instance_norm``
- recurrent: ``lstm``, ``gru``, ``rnn_tanh``, ``rnn_relu``, ``lstm_cell``, ``gru_cell``, ``rnn_tanh_cell``,
  ``rnn_relu_cell``
- shapes: ``dropout``, ``dropout1d``, ``dropout2d``, ``dropout3d``, ``alpha_dropout``,
  ``feature_alpha_dropout``, ``contiguous``, ``clone``, ``detach``, ``to``, ``float``, ``double``, ``type``,
  ``type_as``, ``data``, ``cpu``, ``cuda``, ``neg``, ``view``, ``reshape``, ``flatten``, ``unflatten``,
  ``squeeze``, ``unsqueeze``, ``ravel``, ``view_as``, ``reshape_as``, ``zeros``, ``zeros_like``,
  ``new_zeros``, ``empty``, ``empty_like``, ``new_empty``, ``ones_like``, ``full_like``, ``new_ones``,
  ``new_full``, ``new_tensor``, ``roll``, ``flip``, ``repeat``, ``tile``, ``repeat_interleave``, ``cat``,
  ``concat``, ``concatenate``, ``stack``, ``vstack``, ``row_stack``, ``hstack``, ``column_stack``, ``dstack``,
  ``pad``
- shuffles: ``pixel_shuffle``, ``fold``, ``pixel_unshuffle``, ``unfold``, ``channel_shuffle``,
  ``native_channel_shuffle``, ``topk``, ``sort``, ``argsort``, ``msort``, ``kthvalue``, ``cummax``,
  ``cummin``, ``cumsum``, ``cumprod``, ``logcumsumexp``, ``diff``
"""

import torch

from intertwine.weightspace.rules import (
    arithmetic,
    elementwise,
    indexing,
    layers,
    norms,
    products,
    recurrent,
    shapes,
    shuffles,
    views,
)
from intertwine.weightspace.rules.infer import RULES


def operations() -> dict[str, list[str]]:
    """The operations of torch that have a rule, by the file that has the rule.

    Example:
        >>> operations()["recurrent"]
        ['lstm', 'gru', 'rnn_tanh', 'rnn_relu', 'lstm_cell', 'gru_cell', 'rnn_tanh_cell', 'rnn_relu_cell']
    """
    files: dict[str, list[str]] = {}
    for name, function in RULES.items():
        known = any(hasattr(each, name) for each in (torch, torch.nn.functional, torch.Tensor))
        if known and not name.startswith("_") and not name.endswith("_"):  # aliases have the same rule
            files.setdefault(function.__module__.rpartition(".")[2], []).append(name)
    return files


__all__ = [
    "arithmetic",
    "elementwise",
    "indexing",
    "layers",
    "norms",
    "products",
    "recurrent",
    "shapes",
    "shuffles",
    "views",
]
