"""Terms of a loss that depend on parameters only by what has no derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from .gradients import Flow, Link
from .loss_terms import terms
from .program import Value
from .unscored import is_unscored_draw

if TYPE_CHECKING:
    from .facts import Facts

# What is this large stands for what must not be, and says nothing of where to go instead.
_FORBIDDING = 1e6


def flat_terms(facts: Facts, flow: Flow) -> Iterator[Link]:
    """Where such terms lose their gradient, in losses of which other terms train."""
    if flow.detail.kind != "grad":
        return
    parts = [term.value for it in flow.results for term in terms(flow, it, scalars_only=True)]
    trained = 0
    for value in parts:
        trained |= flow.gets(value)
    beside = flow.slice([it for it in parts if flow.gets(it)], blocked=True)
    for value in parts:
        used = flow.uses(value)
        # A parameter that no term trains is told of as such.
        if flow.gets(value) or not used & trained:
            continue
        blockers = flow.blockers(used, [value])
        is_stopped = any(it.blocker == "stop_gradient" for it in blockers)
        if not blockers or is_stopped or _forbids(flow, value):
            continue
        if any(_is_drawn(flow, it) for it in blockers):
            if not all(is_unscored_draw(flow, it) for it in blockers):
                continue
        # Pieces of one function: a value at a corner, and the way from there to the point.
        elif any(it.target in beside for it in blockers):
            continue
        if facts.is_users(blockers[-1].step):
            yield blockers[-1]


def _is_drawn(flow: Flow, link: Link) -> bool:
    """Whether something random decides: a sample has a gradient of its own kind."""
    made = (it.producer for it in flow.slice([link.source], blocked=True))
    return any(it is not None and it.primitive.startswith(("random_", "threefry")) for it in made)


def _forbids(flow: Flow, value: Value) -> bool:
    """Whether a term is there to make some values impossible."""
    numbers = (it.constant for it in flow.slice([value], blocked=True) if it.shape == ())
    return any(_is_forbidding(it) for it in numbers)


def _is_forbidding(number: Any) -> bool:
    if number is None or not jnp.issubdtype(np.asarray(number).dtype, jnp.floating):
        return False
    return abs(float(np.asarray(number))) >= _FORBIDDING
