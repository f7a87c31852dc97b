"""Intertwiner groups: the matrices that pass through an activation (godfrey2022 §3)."""

from intertwine.groups.activations import Activation, ActivationError, as_activation
from intertwine.groups.affine import AffineIntertwiner, affine_intertwiners
from intertwine.groups.base import MatrixGroup
from intertwine.groups.complex_diagonal import ComplexDiagonal, InterleavedComplexDiagonal
from intertwine.groups.general_linear import GeneralLinear, StabilizerOfOnes
from intertwine.groups.intertwiner import intertwiner_group, intertwining_error
from intertwine.groups.monomial import GReLU, Monomial, NonzeroMonomial, Permutations, SignedPermutations
from intertwine.groups.orthogonal import CentredOrthogonal, Orthogonal
from intertwine.groups.scalar import Certificate, ScalarGroup
from intertwine.groups.scalar_group import scalar_group

__all__ = [
    "Activation",
    "ActivationError",
    "AffineIntertwiner",
    "CentredOrthogonal",
    "Certificate",
    "ComplexDiagonal",
    "GReLU",
    "GeneralLinear",
    "InterleavedComplexDiagonal",
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
    "intertwiner_group",
    "intertwining_error",
    "scalar_group",
]
