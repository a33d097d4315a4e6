"""One assertion after it was collected: did it hold, what to say, how to repair."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from verax.channel import Site

from .laws import FIRST, Law
from .messages import fill_in

State = TypeVar("State")


class InspectedWhileTracingError(RuntimeError):
    """The outcome of an assertion was asked for before it has one."""


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["predicate", "fmt_args", "fix_args", "iteration"],
    meta_fields=[
        "message",
        "exception_type",
        "static_info",
        "fix_fn",
        "fix_law",
        "fmt_static",
        "site",
        "rank",
    ],
)
@dataclass(frozen=True)
class RuntimeAssertion:
    """An assertion that was met in a computation, with its values.

    Axes that `vmap` added (lanes) lead in `predicate`, `fmt_args`, `fix_args` and `iteration`.
    A message speaks of the first lane that failed.

    Attributes:
        predicate: Whether it holds; in a loop, whether it held in all iterations.
        message: The message with its placeholders.
        fmt_args: The values for the placeholders; in a loop, of the first failing iteration.
        exception_type: What `check` raises.
        static_info: What the assertion was declared with.
        fix_fn: `fix_fn(state, fix_args)` repairs a state, or `None`.
        fix_args: What `fix_fn` needs, combined over failures by `fix_law`.
        site: Where the assertion stands in the source.
        iteration: The failing iteration of each loop around it, outermost first.
    """

    predicate: Any
    message: str
    fmt_args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    exception_type: type[Exception] = AssertionError
    static_info: Hashable = None
    fix_fn: Callable[..., Any] | None = None
    fix_args: Any = None
    fix_law: Law = FIRST
    fmt_static: tuple[tuple[str, Hashable], ...] = ()
    site: Site | None = None
    iteration: Any = None
    rank: int = 0

    @property
    def valid(self) -> bool:
        """Whether the assertion holds."""
        return bool(self._predicate().all())

    @property
    def failed(self) -> bool:
        """Whether the assertion does not hold."""
        return not self.valid

    @property
    def exception(self) -> Exception:
        """The exception that `check` raises on failure."""
        try:
            return self.exception_type(str(self))
        except Exception:
            # The type wants something else than a text.
            return AssertionError(f"{self}\n  as {self.exception_type.__qualname__}")

    def check(self) -> None:
        """Raise the assertion's exception if it does not hold."""
        if self.failed:
            raise self.exception

    def fix(self, state: State) -> State:
        """The state as repaired by the assertion's own `fix_fn`."""
        if self.fix_fn is None:
            raise TypeError(f"there is no fix for: {self}")
        return self.fix_fn(state, self.needed())

    def needed(self) -> Any:
        """The `fix_args` of the failure: of the first lane, or the largest of all lanes."""
        failed = self._failed_lanes()
        if not failed.ndim:
            return self.fix_args
        if self.fix_law is FIRST:
            lane = self._first_failed_lane()
            return jax.tree.map(lambda leaf: leaf[lane], self.fix_args)
        chosen = failed if failed.any() else ~failed
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen].max(axis=0), self.fix_args)

    def __str__(self) -> str:
        """The message with its values, then where the assertion stands and what it met."""
        lane = self._first_failed_lane()
        values = jax.tree.map(lambda leaf: leaf[lane], dict(self.fmt_args))
        lines = [fill_in(self.message, {**values, **dict(self.fmt_static)})]
        if self.site is not None:
            lines.append(f"  asserted at {self.site}")
        lines.extend(self._circumstances(lane))
        return "\n".join(lines)

    def _circumstances(self, lane: tuple[int, ...]) -> list[str]:
        if not self._failed_lanes().any():
            return []
        lines: list[str] = []
        if self.iteration is not None and self.iteration.shape[-1]:
            path = np.asarray(self.iteration)[lane].tolist()
            lines.append(f"  first failure in iteration {', '.join(map(str, path))}")
        if lane:
            count = int(self._failed_lanes().sum())
            index = ", ".join(map(str, lane))
            lines.append(
                f"  first failure in lane {index}; {count} of {self._failed_lanes().size} failed"
            )
        return lines

    def _predicate(self) -> np.ndarray[Any, Any]:
        if isinstance(self.predicate, Tracer):
            raise InspectedWhileTracingError(
                f"the assertion {self.message!r} was inspected while JAX is tracing, when it has "
                "no outcome yet. Return it from the compiled function and look at it outside, "
                "or use verax.check_assertions() for a boolean inside the computation."
            )
        return np.asarray(self.predicate)

    def _failed_lanes(self) -> np.ndarray[Any, Any]:
        predicate = self._predicate()
        lanes = predicate.ndim - self.rank
        return ~np.asarray(predicate.all(axis=tuple(range(lanes, predicate.ndim))))

    def _first_failed_lane(self) -> tuple[int, ...]:
        failed = self._failed_lanes()
        if not failed.ndim or not failed.size:
            return ()
        return tuple(int(i) for i in np.unravel_index(int(failed.argmax()), failed.shape))
