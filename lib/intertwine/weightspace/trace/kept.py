"""Runs that leave weights as they are, also where a model changes them, as an embedding with `max_norm`."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from intertwine.weightspace.trace.run import leaves


class Kept(TorchDispatchMode):
    """While it is entered, tensors may change; then they have their old entries again.

    Example:
        >>> import torch
        >>> x = torch.ones(2)
        >>> with Kept([x]):
        ...     _ = x.mul_(3)
        >>> x
        tensor([1., 1.])

    Only what an operation is about to change is copied.
    """

    supports_higher_order_operators = True  # as attention by flex_attention is

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        super().__init__()
        dense = [x.untyped_storage() for x in tensors if not x.is_meta and x.layout == torch.strided]
        self.storages = {storage._cdata: storage for storage in dense}
        self.before: dict[int, torch.UntypedStorage] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # else torch imports its compiler, which takes seconds, to say that nothing is compiled here
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema is not None and schema.is_mutable:
            given = dict(zip((each.name for each in schema.arguments), args, strict=False)) | kwargs
            written = [given.get(each.name) for each in schema.arguments if each.is_write]
            for x in leaves(written):
                if isinstance(x, Tensor) and x.layout == torch.strided:
                    key = x.untyped_storage()._cdata
                    if key in self.storages and key not in self.before:
                        self.before[key] = self.storages[key].clone()
        return func(*args, **kwargs)

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for key, old in self.before.items():
            self.storages[key].copy_(old)
