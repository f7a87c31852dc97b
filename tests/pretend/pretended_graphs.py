"""Streams, which are all one here, and CUDA graphs: steps recorded, and replayed on the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

recording: list[Graph] = []  # the graph at work, if any
WAITS = {"_local_scalar_dense", "nonzero", "masked_select", "equal", "_unique2", "is_nonzero", "item"}


class Graph:
    """The operators of a step. As its tensors are made while it is recorded, the first replay is that run."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []
        self.fresh = True

    def replay(self) -> None:
        if not self.fresh:
            for step in self.steps:
                step()
        self.fresh = False

    def add(self, op: Any, args: tuple, kwargs: dict, again: Callable[[], Any], made: Any) -> None:
        """Record an operator; what it waits for, or reads from the CPU, a GPU would not see again."""
        from pretended_gpu import on_host

        if op._opname in WAITS or any(not x.is_cuda and x.ndim for x in tensors((args, kwargs))):
            raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({op})")
        results = [] if "empty" in op._opname else tensors(made)  # what is in it is of no account

        def step() -> None:
            for old, new in zip(results, tensors(again()), strict=bool(results)):
                if old is not new and old.numel():
                    on_host(old).copy_(on_host(new))

        self.steps.append(step)


def tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


class Stream:
    def __init__(self, *_: Any, **__: Any) -> None: ...
    def wait_stream(self, _: Stream) -> None: ...
    def synchronize(self) -> None: ...


@contextmanager
def graph(made: Graph, **_: Any) -> Iterator[None]:
    recording.append(made)
    try:
        yield
    finally:
        recording.pop()


CUDA: dict[str, Any] = {"Stream": Stream, "CUDAGraph": Graph, "graph": graph}
CUDA |= {"stream": lambda _: nullcontext(), "current_stream": lambda device=None: Stream()}
