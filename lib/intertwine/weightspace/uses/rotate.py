"""Random rotations of the spaces that allow them, which spread outliers over all units."""

from collections.abc import Collection
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from intertwine.checks import whole
from intertwine.groups import Orthogonal
from intertwine.weightspace.act.space import Moved, WeightSpace
from intertwine.weightspace.solve.hidden import HiddenSpace
from intertwine.weightspace.solve.move import Move
from intertwine.weightspace.uses.messages import check_names, check_space, in_words, warn_of, why


def rotate(space: WeightSpace, model: Any, seed: int, names: Collection[str] | None = None) -> Moved:
    """Rotate hidden spaces, by Hadamard matrices with random signs where they can be; the function stays.

    Example:
        >>> from torch import nn
        >>> from intertwine.weightspace import find_symmetries
        >>> norm, x = nn.RMSNorm(4, elementwise_affine=False), torch.ones(1, 3)
        >>> model = nn.Sequential(nn.Linear(3, 4), norm, nn.Linear(4, 2)).eval()
        >>> space = find_symmetries(model, x)
        >>> torch.allclose(rotate(space, model, 0).model(x), model(x), atol=1e-6)
        True

    Where Hadamard's matrix does not exist (the width is no power of 2) or does not keep the mean, as before a
    layer norm it has to, the orthogonal matrix is uniform. The same seed gives the same matrices. Gains of
    norms may be folded before or after (`fold`); they do not have to be. With tied embeddings the residual
    stream is not rotated: `untie` them first.

    Args:
        space: the symmetries of the network.
        model: the network, or its state dict; it is not changed.
        seed: of the signs and of the uniform matrices.
        names: of spaces; by default all that orthogonal matrices may mix. Where a norm over units reads
            another, as a residual stream, a UserWarning names it, and the reason.

    Raises:
        ValueError: a space that may not be rotated, or, where none was named, no space that may.
    """
    check_space(space)
    check_names(names)
    chosen = space.spaces if names is None else [space[name] for name in names]
    generator, element = torch.Generator().manual_seed(whole("seed", seed)), dict[str, Move]()
    left = {
        each.name: why(space, each)
        for each in chosen
        # a norm over units allows rotations, and something else forbids them: worth a warning
        if each.space.root().within.self_dual and each.matrices is None
    }
    for hidden in chosen:
        turns = [turn for _ in range(hidden.blocks) if (turn := _turn(hidden, generator)) is not None]
        if turns:
            element[hidden.name] = hidden.identity()._replace(mixed=torch.stack(turns))
        elif names is not None:
            reason = f" ({left[hidden.name]})" if hidden.name in left else ""
            raise ValueError(
                f"Expected spaces that may be rotated, was given {hidden.name} with the group "
                f"{hidden.group}{reason}: choose those of kind rotation or linear in mappings(space)."
            )
    if not element and names is None:
        raise ValueError(
            f"Expected a network with a space that may be rotated, was given the groups "
            f"{', '.join(sorted({str(each.group) for each in chosen})) or 'of no space'}: "
            f"only spaces of kind rotation or linear in mappings(space) may be"
            f"{f', and not {in_words(left)}' if left else ''}."
        )
    if names is None:
        warn_of("rotated", left)
    return Moved(space.act(model, element), space.element(element))


def hadamard(n: int, generator: torch.Generator) -> Float[Tensor, "n n"]:
    """Sylvester's matrix of ±1/√n with random signs of its columns: orthogonal, and no entry is large.

    Example:
        >>> H = hadamard(4, torch.Generator().manual_seed(0))
        >>> torch.allclose(H @ H.T, torch.eye(4, dtype=torch.float64))
        True
        >>> torch.allclose(H**2, torch.full_like(H, 0.25))
        True

    Args:
        n: a power of 2.
        generator: of the signs, on the CPU.

    Raises:
        ValueError: another n.
    """
    H = torch.ones(1, 1, dtype=torch.float64)
    while len(H) < n:
        H = torch.cat([torch.cat([H, H], 1), torch.cat([H, -H], 1)]) / 2**0.5
    if len(H) != n:
        raise ValueError(f"Expected a power of 2, was given {n}: pad the width.")
    # without signs every seed would give one matrix, and its first row would add up all units
    return H * (2 * torch.randint(2, (n,), generator=generator) - 1)


def _turn(hidden: HiddenSpace, generator: torch.Generator) -> Tensor | None:
    group, n = hidden.matrices, hidden.size
    if group is None:
        return None
    # Sylvester's construction doubles: it gives the powers of 2
    spread = hadamard(n, generator) if n & (n - 1) == 0 else Orthogonal(n).sample(generator)
    # what a layer norm reads has to keep its mean, which these do not; of two signs one may be a complex
    # number, by chance
    if all(group.contains(each) for each in (spread, spread * (2 * (torch.arange(n) > 0) - 1))):
        return spread
    return group.sample(generator) if group.self_dual else None
