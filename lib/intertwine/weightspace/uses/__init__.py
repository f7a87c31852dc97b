"""Fifth phase: uses of the symmetries of a network.

In: a `WeightSpace`, and one network or two.
Out: an element of the group with the network that it moves (`Moved`), or numbers.

Two algorithms go over the network space by space. Weights determine an element only where their other axes
are known already, so `sweep` takes first what is determined best; a `Step` then decides on the element of
one space from its rows. `canonicalise` takes the normal form of one network, `match` the best element
between two. Both ask the group of a space (`normal`, `best`, `determined`) and never for its name.

Read in this order:

1. `rows`: the weights of each unit of a space, as rows, moved as far as is known.
2. `sweep`: the order of spaces, and the scalars that weights require.
3. `canonical` and `match`: a representative of an orbit; the element that brings one network closest to
   another.
4. `balance`: the scalings for which the norm of the weights is smallest.
5. `verify`: outputs and representations before and after an element, compared with what the labels predict.
6. `check`: the same as a test, which `find_symmetries` makes before it returns.
7. `equivalent`: whether two networks compute the same, and which module broke.
8. `mappings`: which modules write and read each space, and where; this, groups, shapes and the graph of the
   run as plain data. `prune` removes units there, and `declared` sets the sizes that modules say of
   themselves.
9. `fold` and `rotate`: gains of norms become 1; Hadamard matrices spread outliers.
   `untie`: a copy in which tied embeddings are two.
10. `biases`: what a bias adds goes into others, and layer norms see no mean; these moves add, not multiply.
11. `messages`: the error where no space is given, and the one warning of what is left, and why.
12. `transform_outputs`: any matrix on the outputs of layers alone, another function (a sanity rotation).
"""
