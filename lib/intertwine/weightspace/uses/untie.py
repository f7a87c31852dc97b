"""Weights that modules share become weights of their own."""

from torch import nn

from intertwine.weightspace.trace.given import AnyModel, replica


def untie(model: AnyModel) -> AnyModel:
    """A copy in which no two modules share a parameter, as words and a head do; the function is the same.

    Example:
        >>> parts = nn.Embedding(9, 4), nn.RMSNorm(4), nn.Linear(4, 9, bias=False)
        >>> tied = nn.Sequential(*parts).eval()
        >>> tied[2].weight = tied[0].weight
        >>> free = untie(tied)
        >>> free[2].weight is free[0].weight, free[2].weight.equal(tied[2].weight)
        (False, True)

    A network has more symmetries then: those of the tied one need one tensor to write the residual stream and
    to read it. A module that is called several times, or has several names, stays one. The configuration of a
    model of `transformers` says `tie_word_embeddings=False` afterwards, so that a saved model stays untied.

    Args:
        model: any, in either mode, with its weights; it is not changed.

    See Also:
        `fold` and `rotate` leave the last gain and the residual stream of tied embeddings.
    """
    free, seen = replica(model, {}), set[int]()
    for module in free.modules():
        for name, weight in module._parameters.items():
            if weight is not None and id(weight) in seen:
                module._parameters[name] = nn.Parameter(weight.detach().clone(), weight.requires_grad)
            seen.add(id(weight))  # the first module keeps the tensor, later ones get copies
        config = getattr(module, "config", None)
        for each in (config, *vars(config).values()) if hasattr(config, "__dict__") else ():
            if getattr(each, "tie_word_embeddings", False):
                each.tie_word_embeddings = False
    return free
