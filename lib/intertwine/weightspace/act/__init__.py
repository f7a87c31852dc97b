"""Fourth phase: elements of the group move weights.

In: a `Solution`, a model of the same shapes, and an element: by the name of a space, a matrix or a `Move`.
Out: a copy of the model with moved weights, which computes the same function.

A label says how each axis of a tensor moves: which units change places, by which power of its scalars a
unit is multiplied, whether the matrix or its dual acts. A tensor is cut into pieces, one for each choice of
a segment on every axis, and each piece is reordered, multiplied by matrices in float64, and scaled. Two
things do not follow from labels alone. A space after a gain follows its centre by a matrix that depends on
this gain, so an `Action` belongs to one point of weight space. And a constant ε is
added to the variance of a batch norm, for which its gain is corrected.

Read in this order:

1. `action`: an element on tensors, piece by piece.
2. `tables`: hidden spaces, and parameters that stay, as data frames.
3. `weights`: the tensors of a model or of its state dict, and a copy with others.
4. `space`: `WeightSpace`, the object that users hold: names, elements and their products, `act`.
"""
