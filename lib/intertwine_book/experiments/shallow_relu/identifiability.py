"""How many orbits a fibre has, and whether parameters are locally identifiable (a conjecture of §1)."""

from collections.abc import Iterator
from math import comb

import torch

from intertwine.genni import functional_dimension, parameter_vector
from intertwine.shallow import canonical_form, configurations, hidden_symmetries, random_network
from intertwine.shallow.random_networks import random_integers
from intertwine_book.experiments.rows import Row, tabled


@tabled
def identifiability(trials: int, *, generator: torch.Generator) -> Iterator[Row]:
    """Fibres of random networks with pairwise independent rows and no λ = 0, searched and differentiated.

    Example:
        >>> table = identifiability(20, generator=torch.Generator().manual_seed(0))
        >>> table[["as_predicted", "locally"]].all().tolist(), bool((table["orbits"] > 1).any())
        ([True, True], True)

    Columns trial, neurons, orbits (networks of the function and width up to H_n, among all 3^n
    configurations), bound (n choose ⌊n/2⌋), flips (sets S with Σ λ wᵀ = 0, the empty one included),
    class_dimension (parameters less the rank of the Jacobian); as_predicted (as many orbits as flips, at most
    the bound), locally (the class has no more dimensions than its orbit).
    """
    trial = 0
    while trial < trials:
        n, m, k = (random_integers(1, most, (), generator).item() for most in (5, 3, 2))
        p = random_network(n, m, k, 1 + trial % 2, generator=generator)
        form = canonical_form(p)
        if len(form.normals) < n:
            continue  # two neurons share a hyperplane
        module, x = p.to_module().eval(), 3 * torch.randn(1000, m, generator=generator, dtype=torch.float64)
        found = sum(each.width <= n for each in configurations(form))
        flips = 1 + (hidden_symmetries(p).count or 0)
        dimension = functional_dimension(module, parameter_vector(module), x).fibre
        bound = comb(n, n // 2)
        row = {"trial": trial, "neurons": n, "orbits": found, "bound": bound, "flips": flips}
        row |= {"class_dimension": dimension, "as_predicted": found == flips and found <= bound}
        yield row | {"locally": dimension == n}
        trial += 1
