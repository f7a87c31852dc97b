"""One figure style and palette through the book; every figure function takes a table and returns a Figure."""

from intertwine_book.figures.curves import curves, matrix, strips
from intertwine_book.figures.dissection import ceilings, forest, gallery, threshold_sweep
from intertwine_book.figures.genni import (
    class_stack,
    embeddings,
    epsilon_slider,
    lifetimes,
    loss_planes,
    shares,
)
from intertwine_book.figures.groups import orbit, scalar_strip
from intertwine_book.figures.rotations import penalties
from intertwine_book.figures.shallow import (
    degeneracies,
    fibre_map,
    folded_planes,
    hidden_counts,
    nearest_hyperplanes,
    neuron_rays,
)
from intertwine_book.figures.similarity import layer_matrices, similarity_by_layer
from intertwine_book.figures.style import COLOURS, GROUP_COLOURS, new_figure, use_style
from intertwine_book.figures.symmetries import before_and_after, neuron_diagram
from intertwine_book.figures.weightspace import imbalance_decay

__all__ = [
    "COLOURS",
    "GROUP_COLOURS",
    "before_and_after",
    "ceilings",
    "class_stack",
    "curves",
    "degeneracies",
    "embeddings",
    "epsilon_slider",
    "fibre_map",
    "folded_planes",
    "forest",
    "gallery",
    "hidden_counts",
    "imbalance_decay",
    "layer_matrices",
    "lifetimes",
    "loss_planes",
    "matrix",
    "nearest_hyperplanes",
    "neuron_diagram",
    "neuron_rays",
    "new_figure",
    "orbit",
    "penalties",
    "scalar_strip",
    "shares",
    "similarity_by_layer",
    "strips",
    "threshold_sweep",
    "use_style",
]
