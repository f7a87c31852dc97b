"""Which of two classes of groups lies in the other."""

from intertwine.groups.base import MatrixGroup


def smaller(first: type[MatrixGroup], second: type[MatrixGroup]) -> type[MatrixGroup] | None:
    """Of two classes of groups the one that lies in the other; None if neither does.

    Example:
        >>> from intertwine.groups import (
        ...     CentredOrthogonal,
        ...     ComplexDiagonal,
        ...     GeneralLinear,
        ...     Orthogonal,
        ... )
        >>> (
        ...     smaller(GeneralLinear, Orthogonal).__name__,
        ...     smaller(CentredOrthogonal, Orthogonal).__name__,
        ... )
        ('Orthogonal', 'CentredOrthogonal')
        >>> smaller(Orthogonal, ComplexDiagonal) is None
        True
    """
    if first is second or second in first.within:
        return first
    return second if first in second.within else None
