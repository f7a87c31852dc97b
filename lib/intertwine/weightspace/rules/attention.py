"""Rules of contractions of two values, softmax and attention."""

from __future__ import annotations

from typing import Any

from intertwine.weightspace.axes import Axis, Fixed, moves, plain, resolve, size
from intertwine.weightspace.infer import Inference, Label, NotUnderstood, bind, rule
from intertwine.weightspace.rules.arithmetic import meet
from intertwine.weightspace.rules.layers import affine, divide, product
from intertwine.weightspace.rules.regroup import join
from intertwine.weightspace.rules.slices import fuller, narrow
from intertwine.weightspace.run import Call

EQUATIONS = {"mm": "ik,kj->ij", "bmm": "bik,bkj->bij", "mv": "ik,k->i", "dot": "k,k->", "outer": "i,j->ij"}


@rule("mm bmm mv dot outer einsum")
def einsum(state: Inference, call: Call) -> Label:
    values: Any = call.args if call.name in EQUATIONS else call.args[1:]
    values = values[0] if len(values) == 1 and isinstance(values[0], tuple | list) else values
    equation = EQUATIONS.get(call.name, call.args[0])
    if not isinstance(equation, str) or call.kwargs:
        raise NotUnderstood("letters given as numbers")
    left, arrow, out = equation.replace(" ", "").partition("->")
    names, labels = left.split(","), [state.of(x) for x in values]
    more = [len(x) - len(n.replace("...", "")) for x, n in zip(labels, names, strict=True)]
    if not arrow:
        once = sorted(c for c in set(left) - {",", "."} if left.count(c) == 1)
        out = "..." * ("..." in left) + "".join(once)
    names = [n.replace("...", REST[len(REST) - k :]) for n, k in zip(names, more, strict=True)]
    out = out.replace("...", REST[len(REST) - max(more) :])
    for k in range(1, max(2, len(names))):
        later = "".join(names[k + 1 :]) + out
        merged = (
            out
            if k + 1 >= len(names)
            else "".join(dict.fromkeys(c for c in names[0] + names[k] if c in later))
        )
        other = (labels[k], names[k]) if k < len(names) else ((), "")
        labels[0], names[0] = contraction(state, labels[0], names[0], *other, merged), merged
    return labels[0]


REST = "ABCDEFGHIJKLMNOP"  # the letters of ...


@rule("matmul __matmul__ __rmatmul__")
def matmul(state: Inference, call: Call) -> Label:
    a = bind(call, "input other")
    x, y = (a["other"], a["input"]) if call.name == "__rmatmul__" else (a["input"], a["other"])
    for weight in (ref for ref in (y,) if ref.index in state.trainable):
        state.read.add((weight.index, max(0, len(state.shape(weight)) - 2)))
    return products(state, state.of(x), state.of(y))


@rule("addmm baddbmm addbmm addmv addr")
def addmm(state: Inference, call: Call) -> Label:
    a = bind(call, "input first second")
    first, second = a.get("mat1", a["first"]) or a["batch1"], a.get("mat2", a["second"]) or a["batch2"]
    if call.name not in ("addmm", "baddbmm"):
        raise NotUnderstood("a sum of matrices")
    state.read.add((second.index, len(state.shape(second)) - 2))
    y = products(state, state.of(first), state.of(second))
    return meet(state, y, state.of(a["input"]), f"bias of {call.name}")


def products(state: Inference, p: Label, q: Label) -> Label:
    """Σ_k p[…, i, k] q[…, k, j], as matmul."""
    ps = REST[len(REST) - max(0, len(p) - 2) :] + ("ik" if len(p) > 1 else "k")
    qs = REST[len(REST) - max(0, len(q) - 2) :] + ("kj" if len(q) > 1 else "k")
    batches = max(ps[:-2], qs[:-2], key=len)
    return contraction(state, p, ps, q, qs, batches + "i" * (len(p) > 1) + "j" * (len(q) > 1))


def contraction(state: Inference, p: Label, ps: str, q: Label, qs: str, out: str) -> Label:
    """Products of entries, axes with the same letter together, summed over letters that are not in `out`."""
    one, two = dict(zip(ps, p, strict=True)), dict(zip(qs, q, strict=True))
    if len(one) < len(p) or len(two) < len(q):
        raise NotUnderstood("a diagonal")
    result = two | one
    for c in [c for c in one if c in two and c in out]:
        a, b = one[c], two[c]
        if size(a) != size(b):
            result[c] = max((a, b), key=size)
        elif moves(a) or moves(b):
            result[c] = product(state, a, b, "matmul", "multiplied by entries that do not move")
        else:
            result[c] = fuller(a, b)
    for side, other in ((one, two), (two, one)):
        alone = tuple(side[c] for c in side if c not in other)
        summed = tuple(side[c] for c in side if c not in out)
        state.alike(tuple(side[c] for c in side if c in out), summed)
        state.alike(tuple(side[c] for c in side if c in other), alone)
        state.permute_only(
            tuple(side[c] for c in side if c not in other and c not in out), "a sum over units"
        )
    # after the batches, as axes in blocks depend on them
    for c in [c for c in one if c in two and c not in out]:
        state.ties.unify(one[c], two[c], state.inverse, "contracted with entries that do not move")
    return tuple(resolve(result[c]) for c in out)


@rule("scaled_dot_product_attention")
def attention(state: Inference, call: Call) -> Label:
    a = bind(call, "query key value attn_mask dropout_p is_causal", dropout_p=0.0)
    q, k, v = (state.of(a[name]) for name in ("query", "key", "value"))
    if call.kwargs.get("enable_gqa") and size(q[-3]) > size(k[-3]):
        k, v = (repeated(x, len(x) - 3, size(q[-3])) for x in (k, v))
    scores = products(state, q, (*k[:-2], k[-1], k[-2]))
    if a["attn_mask"] is not None:
        scores = meet(state, scores, state.of(a["attn_mask"]), "a mask")
    if a["is_causal"]:
        state.freeze(scores[-2:], "a causal mask")
    state.permute_only(scores, "softmax")
    state.mixed(scores, -1)
    return products(state, scores, v)


def repeated(x: Label, dim: int, n: int) -> Label:
    """Every unit n / size times, one after another, as keys that several queries share."""
    many = join([x[dim], ((Fixed(n // size(x[dim]), copies=True),),)])
    return (*x[:dim], many or plain(n), *x[dim + 1 :])


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
