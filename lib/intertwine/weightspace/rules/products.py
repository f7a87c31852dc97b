"""Rules of products that are summed: layers, matrices, attention."""

from typing import Any

from intertwine.weightspace.rules.axes import Label, resolve, size
from intertwine.weightspace.rules.entries import broadcast, meet, product
from intertwine.weightspace.rules.infer import Inference, NotUnderstood, bind, rule
from intertwine.weightspace.rules.regroup import repeated
from intertwine.weightspace.trace.run import Call, Ref

REST = "ABCDEFGHIJKLMNOP"  # the letters of ...
EQUATIONS = {
    "mm": "ik,kj->ij",
    "spmm": "ik,kj->ij",  # as torch.mm calls itself
    "bmm": "bik,bkj->bij",
    "mv": "ik,k->i",
    "dot": "k,k->",
    "vdot": "k,k->",
    "outer": "i,j->ij",
}


def contraction(
    state: Inference, p: Label, ps: str, q: Label, qs: str, out: str, why: str = "contracted"
) -> Label:
    """Products of entries, axes with the same letter together, summed over letters that are not in `out`."""
    one, two = dict(zip(ps, p, strict=True)), dict(zip(qs, q, strict=True))
    if len(one) < len(p) or len(two) < len(q):  # one letter twice, as in ii->i
        raise NotUnderstood("a diagonal")
    result = two | one
    for c in [c for c in one if c in two and c in out]:
        result[c] = product(state, one[c], two[c], "matmul", "multiplied by entries that do not move")
    # an axis within blocks may have an element for each block; a sum over the blocks, or a value without
    # them, adds or meets entries of different blocks, and lets through one element for all only
    for side, other in ((one, two), (two, one)):
        alone = tuple(side[c] for c in side if c not in other)
        state.alike(tuple(side[c] for c in side if c in out), tuple(side[c] for c in side if c not in out))
        state.alike(tuple(side[c] for c in side if c in other), alone)
        state.permute_only(tuple(side[c] for c in side if c not in {*other, *out}), "a sum over units")
    # after the batches, as axes in blocks depend on them
    for c in [c for c in one if c in two and c not in out]:
        # Σ p·q stays where A moves p and its inverse transpose moves q
        state.unify(one[c], two[c], -1, f"{why} with entries that do not move")
    return tuple(resolve(result[c]) for c in out)


def products(state: Inference, p: Label, q: Label, why: str = "contracted") -> Label:
    """Σ_k p[…, i, k] q[…, k, j], as matmul."""
    # letters from the end of REST, as broadcasting aligns the last axes of both
    ps = REST[len(REST) - max(0, len(p) - 2) :] + ("ik" if len(p) > 1 else "k")
    qs = REST[len(REST) - max(0, len(q) - 2) :] + ("kj" if len(q) > 1 else "k")
    batches = max(ps[:-2], qs[:-2], key=len)
    return contraction(state, p, ps, q, qs, batches + "i" * (len(p) > 1) + "j" * (len(q) > 1), why)


def _reads(state: Inference, x: Ref, i: int, y: Ref, j: int) -> None:
    """Axis i of x is summed with axis j of y: one of them a weight reads, of two weights the second."""
    if not state.given.isdisjoint((x.index, y.index)) or (state.is_weight(x) and state.is_weight(y)):
        state.reads(*((x, i) if state.is_weight(x) and not state.is_weight(y) else (y, j)))


@rule("linear", layer=True)
def linear(state: Inference, call: Call) -> Label:
    """y = Wx + b: x moves by M means W moves by M^{-1} on that side; y and b move as the rows of W."""
    a = bind(call, "input weight bias")
    if len(state.shape(a["weight"])) != 2:
        raise NotUnderstood("a vector")
    state.reads(a["weight"], 1)
    y = products(state, state.of(a["input"]), state.of(a["weight"])[::-1], "read by linear")
    return y if a["bias"] is None else meet(state, y, state.of(a["bias"]), "bias of linear")


@rule("matmul __matmul__ __rmatmul__")
def matmul(state: Inference, call: Call) -> Label:
    a = bind(call, "input other")
    x, y = (a["other"], a["input"]) if call.name == "__rmatmul__" else (a["input"], a["other"])
    _reads(state, x, len(state.shape(x)) - 1, y, max(0, len(state.shape(y)) - 2))
    return products(state, state.of(x), state.of(y))


@rule("addmm baddbmm")
def addmm(state: Inference, call: Call) -> Label:
    a = bind(call, "input first second")
    first, second = a.get("mat1", a["first"]) or a["batch1"], a.get("mat2", a["second"]) or a["batch2"]
    _reads(state, first, len(state.shape(first)) - 1, second, len(state.shape(second)) - 2)
    y = products(state, state.of(first), state.of(second))
    return meet(state, y, state.of(a["input"]), f"bias of {call.name}")


@rule("grouped_mm _grouped_mm", layer=True)
def grouped_mm(state: Inference, call: Call) -> Label:
    """Each row by the matrix of its expert: all experts have the same units."""
    a = bind(call, "input weight offs bias out_dtype")
    rows, weight = state.of(a["input"]), state.of(a["weight"])
    if (len(rows), len(weight)) != (2, 3) or a["bias"] is not None:
        raise NotUnderstood("other than rows by a matrix for each group")
    state.freeze(weight[:1], "experts")
    state.reads(a["weight"], 1)
    return products(state, rows, weight[1:])


@rule("mm spmm bmm mv dot vdot outer einsum")
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
        # by convention a letter that stands once is a result, in the order of the alphabet
        once = sorted(c for c in set(left) - {",", "."} if left.count(c) == 1)
        out = "..." * ("..." in left) + "".join(once)
    names = [n.replace("...", REST[len(REST) - k :]) for n, k in zip(names, more, strict=True)]
    out = out.replace("...", REST[len(REST) - max(more) :])
    first = all(map(state.is_weight, values))  # in a product of weights, those after the first read it
    moved = first or not state.given.isdisjoint(x.index for x in values)  # else by constants
    for k, (x, letters) in enumerate(zip(values, names, strict=True)):
        summed = {*"".join(names[:k] + names[k + 1 :])} - {*out}
        for axis, c in enumerate(letters if moved and state.is_weight(x) and k >= first else ""):
            if c in summed:
                state.reads(x, axis)
    name, label = names[0], labels[0]
    for k, (second, other) in enumerate(zip(names[1:] or [""], labels[1:] or [()], strict=True), 2):
        later = "".join(names[k:]) + out
        # a letter that neither a later value nor the result has is summed here
        merged = out if k >= len(names) else "".join(dict.fromkeys(c for c in name + second if c in later))
        name, label = merged, contraction(state, label, name, other, second, merged)
    return label


@rule("vecdot linalg_vecdot")
def vecdot(state: Inference, call: Call) -> Label:
    a = bind(call, "x y", dim=-1)
    return dot(state, state.of(a["x"]), state.of(a["y"]), a["dim"])


def dot(state: Inference, p: Label, q: Label, dim: int) -> Label:
    """Σ_k p[…, k, …] q[…, k, …], of values that are broadcast together."""
    p, q = broadcast(p, q)
    if any(size(one) != size(two) for one, two in zip(p, q, strict=True)):
        raise NotUnderstood("a product of one value with several")
    letters = REST[: len(p)]
    return contraction(state, p, letters, q, letters, letters.replace(letters[dim], ""))


@rule("tensordot")
def tensordot(state: Inference, call: Call) -> Label:
    a = bind(call, "a b dims out", dims=2)
    x, y, dims = state.of(a["a"]), state.of(a["b"]), a["dims"]
    left, right = ([*range(-dims, 0)], [*range(dims)]) if isinstance(dims, int) else dims
    letters = [chr(ord("a") + k) for k in range(len(x) + len(y))]
    xs, ys = letters[: len(x)], letters[len(x) :]
    for i, j in zip(left, right, strict=True):
        _reads(state, a["a"], i % len(x), a["b"], j % len(y))
        ys[j] = xs[i]  # one letter for both, so that they are summed together
    out = "".join(c for c in xs + ys if (c in xs) != (c in ys))
    return contraction(state, x, "".join(xs), y, "".join(ys), out)


@rule("bilinear", layer=True)
def bilinear(state: Inference, call: Call) -> Label:
    a = bind(call, "first second weight bias")
    first, second = state.of(a["first"]), state.of(a["second"])
    rest = REST[len(REST) - len(first) + 1 :]
    state.reads(a["weight"], 1)
    state.reads(a["weight"], 2)
    y = contraction(state, first, f"{rest}i", state.of(a["weight"]), "oij", f"{rest}oj", "read by bilinear")
    y = contraction(state, y, f"{rest}oj", second, f"{rest}j", f"{rest}o", "read by bilinear")
    return y if a["bias"] is None else meet(state, y, state.of(a["bias"]), "bias of bilinear")


@rule("scaled_dot_product_attention", layer=True)
def attention(state: Inference, call: Call) -> Label:
    a = bind(call, "query key value attn_mask dropout_p is_causal")
    q, k, v = (state.of(a[name]) for name in ("query", "key", "value"))
    if call.kwargs.get("enable_gqa") and size(q[-3]) > size(k[-3]):
        # several heads of queries share a head of keys
        k, v = (repeated(x, len(x) - 3, size(q[-3])) for x in (k, v))
    # as in the products of matrices that it stands for: weights may be keys, values, or the queries
    _reads(state, a["query"], len(q) - 1, a["key"], len(k) - 1)
    if state.is_weight(a["value"]):
        state.reads(a["value"], len(v) - 2)
    scores = products(state, q, (*k[:-2], k[-1], k[-2]))
    if a["attn_mask"] is not None:
        scores = meet(state, scores, state.of(a["attn_mask"]), "a mask of attention")
    if a["is_causal"]:
        state.freeze(scores[-2:], "a mask of attention")
    # the scores, and the softmax over keys, are never seen as calls: their rules stand here
    state.permute_only(scores, "softmax")
    state.mixed(scores, -1)
    return products(state, scores, v)
