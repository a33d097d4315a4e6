"""Validation in `__post_init__`, and how to do without it for a while.

Code that puts an object together from parts (reading a file, replacing several fields one after
the other) passes through states that no finished object should have. Inside `no_post_init` the
classes that opted in with `skip_post_init_if_disabled` accept them.
"""

from __future__ import annotations

import contextlib
import functools
from contextvars import ContextVar
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

P = ParamSpec("P")
S = TypeVar("S")

# A context variable and no global: one thread that loads a file must not switch off the checks
# of another.
_disabled: ContextVar[bool] = ContextVar("verax_post_init_disabled", default=False)


@contextlib.contextmanager
def no_post_init() -> Generator[None]:
    """Inside this context, opted-in classes skip their `__post_init__`.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Interval:
        ...     low: float
        ...     high: float
        ...     @skip_post_init_if_disabled
        ...     def __post_init__(self):
        ...         if self.low > self.high:
        ...             raise ValueError("low is above high")
        >>> with no_post_init():
        ...     Interval(2.0, 1.0)
        Interval(low=2.0, high=1.0)
        >>> Interval(2.0, 1.0)
        Traceback (most recent call last):
        ValueError: low is above high
    """
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)


def skip_post_init_if_disabled(
    post_init: Callable[Concatenate[S, P], None],
) -> Callable[Concatenate[S, P], None]:
    """Let a `__post_init__` be skipped inside `no_post_init`; see there for an example.

    Example:
        >>> class Positive:
        ...     @skip_post_init_if_disabled
        ...     def __post_init__(self):
        ...         print("checked")
        >>> Positive().__post_init__()
        checked
        >>> with no_post_init():
        ...     Positive().__post_init__()
    """

    @functools.wraps(post_init)
    def unless_disabled(self: S, *args: P.args, **kwargs: P.kwargs) -> None:
        if not _disabled.get():
            post_init(self, *args, **kwargs)

    return unless_disabled
