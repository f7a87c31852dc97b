"""The run-time type checker of the tests: beartype, in a scope of jaxtyping where a signature has shapes.

jaxtyping's own wrapper binds the arguments of each call by hand and checks them twice, for better messages
than we need: it took a quarter of the time of all tests. It stays where a hint cannot be resolved.
"""

import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import Any

from jaxtyping import config, jaxtyped


def checked(function: Callable[..., Any], typechecker: Callable[..., Any]) -> Callable[..., Any]:
    """A function that checks its arguments and its value, from its first call on."""

    @functools.cache  # not before all names of its module are known
    def checking() -> Callable[..., Any]:
        try:
            hints = typing.get_type_hints(function, include_extras=True)
        except NameError:  # a name that only the type checker of an editor imports
            return jaxtyped(function, typechecker=typechecker)
        function.__annotations__ = hints
        plain = typechecker(function)
        if not any("jaxtyping." in repr(hint) for hint in hints.values()):
            return plain

        def in_a_scope(*args: Any, **options: Any) -> Any:
            with jaxtyped("context"):
                return plain(*args, **options)

        return in_a_scope

    @functools.wraps(function)
    def either(*args: Any, **options: Any) -> Any:
        if config.jaxtyping_disable:
            return function(*args, **options)
        return checking()(*args, **options)

    # as beartype names its own: no line of a user, of which an error of the library speaks
    either.__code__ = either.__code__.replace(co_filename="<type checks>")
    return either


def decorator(*, typechecker: Callable[..., Any]) -> Callable[[Any], Any]:
    """What the import hook of jaxtyping puts above each class and each function."""

    def decorate(it: Any) -> Any:
        if not isinstance(it, type):
            return checked(it, typechecker) if it.__annotations__ else it
        if dataclasses.is_dataclass(it) and "__init__" in vars(it):
            it.__init__ = checked(it.__init__, typechecker)
        return it

    return decorate
