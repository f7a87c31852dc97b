"""Third phase: from constraints to groups.

In: an `Inference`.
Out: a `Solution`. It holds the hidden spaces, each with its group, the labels of all values in these
spaces, and the reasons why other axes do not move.

A space has a matrix group where its units may be mixed, else permutations and scalars. The scalars are
solved for: each axis carries a product of powers of unknown numbers and signs, the constraints say which
products are 1, and elimination leaves the free ones. Gains are decided first: a gain between two axes joins
their units, unless both sides may be mixed, in which case one side follows the other. As one decision can
undo another, the solver repeats until none changes.

Read in this order:

1. `equations`: linear equations between exponents, over the fractions and modulo 2.
2. `move`: one element of the group of a space, in a compact form: an order, logarithms, signs or a matrix.
3. `hidden`: `HiddenSpace`, which draws elements and reads them from matrices, and `Solution`.
4. `solve`: the decisions. `solve` is the entrance.
5. `names`: spaces take the names of modules that compute their values.
6. `graph`: a run as nodes and edges, with the hidden spaces on each.
7. `draw`: this graph as a picture, in the colours of its hidden spaces.
"""
