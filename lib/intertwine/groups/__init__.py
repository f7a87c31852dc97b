"""Intertwiner groups: the matrices that pass through an activation (godfrey2022 §3)."""

from intertwine.groups.activations import Activation, ActivationError, as_activation
from intertwine.groups.affine import AffineIntertwiner, affine_intertwiners
from intertwine.groups.decide import scalar_group
from intertwine.groups.intertwiner import intertwiner_group
from intertwine.groups.linear import GeneralLinear, Orthogonal, StabilizerOfOnes
from intertwine.groups.matrix import MatrixGroup
from intertwine.groups.monomial import GReLU, Monomial, NonzeroMonomial, Permutations, SignedPermutations
from intertwine.groups.scalar import Certificate, ScalarGroup
from intertwine.groups.table import EXTENDED, PAPER, describe_phi, table

__all__ = [
    "EXTENDED",
    "PAPER",
    "Activation",
    "ActivationError",
    "AffineIntertwiner",
    "Certificate",
    "GReLU",
    "GeneralLinear",
    "MatrixGroup",
    "Monomial",
    "NonzeroMonomial",
    "Orthogonal",
    "Permutations",
    "ScalarGroup",
    "SignedPermutations",
    "StabilizerOfOnes",
    "affine_intertwiners",
    "as_activation",
    "describe_phi",
    "intertwiner_group",
    "scalar_group",
    "table",
]
