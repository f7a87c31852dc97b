"""Rules of contractions of two values, softmax and attention."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import Axis, moves, plain, resolve, size
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, bind, rule
from intertwine.weightspace.rules.arithmetic import broadcast, meet
from intertwine.weightspace.rules.layers import affine, divide, product
from intertwine.weightspace.rules.slices import fuller, narrow
from intertwine.weightspace.run import Call


@rule("matmul __matmul__ __rmatmul__ bmm mm")
def matmul(state: Inference, call: Call) -> Label:
    a = bind(call, "input other")
    x, y = (a["other"], a["input"]) if call.name == "__rmatmul__" else (a["input"], a["other"])
    p, q = state.of(x), state.of(y)
    if len(p) < 2 or len(q) < 2:
        raise NotUnderstood("a vector")
    return contraction(state, p, q)


def contraction(state: Inference, p: Label, q: Label) -> Label:
    """Σ_k p[…, i, k] q[…, k, j]; axes before these are batches."""
    batches = []
    for a, b in zip(*broadcast(p[:-2], q[:-2]), strict=True):
        if size(a) != size(b):
            batches.append(max((a, b), key=size))
        elif moves(a) or moves(b):
            batches.append(product(state, a, b, "matmul", "multiplied by entries that do not move"))
        else:
            batches.append(fuller(a, b))
    # after the batches, as axes in blocks depend on them
    state.ties.unify(p[-1], q[-2], state.inverse, "contracted with entries that do not move")
    return (*batches, p[-2], q[-1])


@rule("scaled_dot_product_attention")
def attention(state: Inference, call: Call) -> Label:
    a = bind(call, "query key value attn_mask dropout_p is_causal", dropout_p=0.0)
    q, k, v = (state.of(a[name]) for name in ("query", "key", "value"))
    if call.kwargs.get("enable_gqa"):
        raise NotUnderstood("grouped queries: repeat the keys and values instead")
    scores = contraction(state, q, (*k[:-2], k[-1], k[-2]))
    if a["attn_mask"] is not None:
        scores = meet(state, scores, state.of(a["attn_mask"]), "a mask")
    if a["is_causal"]:
        state.freeze(scores[-2:], "a causal mask")
    state.permute_only(scores, "softmax")
    return contraction(state, scores, v)


@rule("multi_head_attention_forward")
def multi_head_attention(state: Inference, call: Call) -> list[Label]:
    a = bind(
        call,
        "query key value embed_dim heads in_weight in_bias bias_k bias_v add_zero_attn dropout_p "
        "out_weight out_bias training key_padding_mask need_weights attn_mask use_separate_proj_weight "
        "q_proj_weight k_proj_weight v_proj_weight static_k static_v average_attn_weights is_causal",
        average_attn_weights=True,
    )
    if any(a[k] is not None for k in ("bias_k", "bias_v", "static_k", "static_v")) or a["add_zero_attn"]:
        raise NotUnderstood("additional keys")
    if not a["average_attn_weights"]:
        raise NotUnderstood("the weights of each head are asked for")
    projected = [_in_projection(state, a, k) for k in range(3)]
    q, k, v = (label[:-1] for label in projected)  # positions; the batch, if there is one
    for label in (q, k, v):
        state.permute_only(label, "softmax")
    state.merge(k, v, state.equal, "keys and values")
    state.merge(q[1:], k[1:], state.equal, "queries and keys")
    heads = [_heads(state, label[-1], a["heads"]) for label in projected]
    (hq, dq), (hk, dk), (hv, _) = heads
    for other in (hk, hv):
        state.ties.unify(hq, other, None, "heads")
    state.permute_only((hq,), "softmax")
    if a["key_padding_mask"] is not None:
        state.freeze((*k, *state.of(a["key_padding_mask"])), "a mask of attention")
    if a["attn_mask"] is not None:
        mask = state.of(a["attn_mask"])
        state.freeze((q[0], k[0], *mask, *((*q[1:], hq) if len(mask) == 3 else ())), "a mask of attention")
    state.ties.unify(dq, dk, state.inverse, "queries and keys")
    state.read.add((a["out_weight"].index, 1))
    out = a["out_bias"] and state.of(a["out_bias"])
    y = affine(state, (*q, resolve(projected[2][-1])), state.of(a["out_weight"]), out)
    return [y, *((*q[1:], q[0], k[0]) for _ in call.results[1:])]


def _in_projection(state: Inference, a: dict[str, Any], k: int) -> Label:
    """The queries, keys or values of all heads; of a joint weight, one third of the rows."""
    x, n, apart = state.of(a[("query", "key", "value")[k]]), a["embed_dim"], a["use_separate_proj_weight"]
    matrix = a["qkv"[k] + "_proj_weight"] if apart else a["in_weight"]
    state.read.add((matrix.index, 1))
    weight, bias = state.of(matrix), a["in_bias"] and state.of(a["in_bias"])
    if not apart:
        weight = narrow(state, weight, 0, k * n, k * n + n)
    if bias is not None:
        bias = narrow(state, bias, 0, k * n, k * n + n)
    return affine(state, x, weight, bias)


def _heads(state: Inference, axis: Axis, heads: int) -> tuple[Axis, Axis]:
    if heads == 1:
        return plain(1), resolve(axis)
    found = divide(state, axis, heads)
    if found is None:
        raise NotUnderstood("heads that are not whole blocks of units")
    return found
