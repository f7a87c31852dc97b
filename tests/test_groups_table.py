"""Table 1 computed: what it says about φ is what φ does."""

import pytest
import torch

from intertwine.groups import intertwiner_group
from intertwine_book.experiments.intertwiner_groups.activation_table import (
    EXTENDED,
    TABLE_1_ACTIVATIONS,
    activation_table,
    describe_phi,
)

# the words of the column phi, as functions of an element A and of σ
WORDS = {
    "A": lambda A, _: A,
    "abs(A)": lambda A, _: A.abs(),
    "sign(A)": lambda A, _: A.sign(),
    "P": lambda A, _: (A != 0).double(),
    "A⊙2": lambda A, _: A**2,
    "A⊙3": lambda A, _: A**3,
    "A⊙0.5": lambda A, _: A**0.5,
    "abs(A)⊙3": lambda A, _: A.abs() ** 3,
    "sign(A)·abs(A)⊙2": lambda A, _: A.sign() * A.abs() ** 2,
    "sign(A)·abs(A)⊙0.5": lambda A, _: A.sign() * A.abs() ** 0.5,
    "σ(A)/σ(1)": lambda A, sigma: sigma(A) / sigma(torch.ones(1)),
    "1 (not unique)": lambda A, _: torch.eye(len(A)).double(),
}
MORE = {
    "x|x|": ("sign(A)·abs(A)⊙2", lambda x: x * x.abs()),
    "|x|³": ("abs(A)⊙3", lambda x: x.abs() ** 3),
    "√relu": ("A⊙0.5", lambda x: torch.relu(x).sqrt()),
    "1 at 0": ("P", lambda x: x == 0),
    "tanh": ("A", "tanh"),
    "cos": ("abs(A)", "cos"),
}


@pytest.mark.parametrize("name", [*EXTENDED, *MORE])
def test_phi_does_what_its_description_says(name):
    expected, activation = MORE[name] if name in MORE else (None, EXTENDED[name])
    group = intertwiner_group(activation, 4)
    words = describe_phi(group)
    assert expected in (None, words)
    for seed in range(5):
        A = group.sample(torch.Generator().manual_seed(seed))
        assert torch.allclose(group.phi(A), WORDS[words](A, group.activation), rtol=1e-9, atol=1e-12)


def test_the_paper_table_1():
    found = activation_table(TABLE_1_ACTIVATIONS, n=3)
    assert found[["activation", "scalars", "group", "phi"]].to_numpy().tolist() == [
        ["identity", "linear", "GL(n)", "A"],
        ["sigmoid", "trivial", "P", "A"],
        ["ReLU", "positive", "PD, d_i > 0", "A"],
        ["LeakyReLU(0.01)", "positive", "PD, d_i > 0", "A"],
        ["RBF", "signs", "PD, d_i = ±1", "abs(A)"],
        ["x²", "nonzero", "PD, d_i ≠ 0", "A⊙2"],
        ["x³", "nonzero", "PD, d_i ≠ 0", "A⊙3"],
    ]


def test_rows_carry_what_is_shown():
    found = activation_table(n=3).set_index("activation")
    assert found.index.tolist() == list(EXTENDED)
    assert (found["accepted"] <= 1e-9).all() and (found["refused"] > 1e-9).all()
    alternating = found.loc["x·(2 ± sin(π·log₃|x|))"]
    assert alternating["group"] == "PD, d_i in {(-3)^k}"
    assert alternating["components"] == float("inf")
