"""What a traced program holds of channels, read off the jaxpr without running it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn

from .._jax import closed, inner_jaxprs, manual_axes, vary_over
from ._channel import Channel, Fold, Label, Query, Visit
from ._primitives import ask_p, emit_p


@dataclass(frozen=True)
class Contents:
    """The channels a program emits into or asks about, and its questions."""

    channels: frozenset[Channel] = frozenset()
    queries: frozenset[Query] = frozenset()

    def __or__(self, other: Contents) -> Contents:
        return Contents(self.channels | other.channels, self.queries | other.queries)


_NOTHING = Contents()
_known: WeakKeyDictionary[Jaxpr, Contents] = WeakKeyDictionary()


def contents_of(jaxpr: Jaxpr) -> Contents:
    """What a program and the programs inside it hold. Each program is read once."""
    found = _known.get(jaxpr)
    if found is None:
        found = _NOTHING
        for eqn in jaxpr.eqns:
            found |= contents_of_equation(eqn)
        _known[jaxpr] = found
    return found


def contents_of_equation(eqn: JaxprEqn) -> Contents:
    """What one equation holds."""
    if eqn.primitive is emit_p:
        return Contents(channels=frozenset([eqn.params["label"].channel]))
    if eqn.primitive is ask_p:
        query = eqn.params["query"]
        return Contents(frozenset([query.channel]), frozenset([query]))
    found = _NOTHING
    for inner in inner_jaxprs(eqn):
        found |= contents_of(closed(inner)[0])
    return found


@dataclass(frozen=True)
class Spec:
    """The type of one emission: what it is, and the shapes in which it arrives.

    `lanes` is the number of leading axes that `vmap` added to every leaf, `depth` the number
    of loops around the emission (`None` for channels that stack, which need no path).
    """

    label: Label
    lanes: int
    depth: int | None
    leaves: tuple[jax.ShapeDtypeStruct, ...]

    @property
    def channel(self) -> Channel:
        return self.label.channel

    def stacked(self, length: int) -> Spec:
        leaves = tuple(
            jax.ShapeDtypeStruct((length, *leaf.shape), leaf.dtype) for leaf in self.leaves
        )
        return replace(self, leaves=leaves)

    def flatten(self, visit: Visit) -> list[Any]:
        """The visit as flat arrays, in the order that `unflatten` takes."""
        leaves = jax.tree.leaves(visit.payload)
        return leaves if visit.path is None else [*leaves, visit.path]

    def unflatten(self, arrays: list[Any]) -> Visit:
        count = len(self.leaves)
        payload = jax.tree.unflatten(self.label.treedef, arrays[:count])
        return Visit(payload, None if self.depth is None else arrays[count])

    def neutral(self) -> list[Any]:
        """What stands for an emission that did not happen."""
        shapes = jax.tree.unflatten(self.label.treedef, self.leaves)
        path = None
        if self.depth is not None:
            lanes = self.leaves[0].shape[: self.lanes] if self.leaves else ()
            path = jnp.zeros((*lanes, self.depth), "int32")
        arrays = self.flatten(Visit(self.channel.loops.neutral(shapes), path))
        axes = manual_axes()
        return [vary_over(array, axes) for array in arrays]

    def below(self, indices: Sequence[Any], arrays: list[Any]) -> list[Any]:
        """The emission as seen from outside of the loops that are in these iterations."""
        if self.depth is None or not indices:
            return arrays
        *leaves, path = arrays
        outer = [jnp.broadcast_to(index, (*path.shape[:-1], 1)) for index in indices]
        axes = manual_axes()
        path = jnp.concatenate([*(vary_over(index, axes) for index in outer), path], axis=-1)
        return [*leaves, path]

    def emit(self, arrays: list[Any]) -> None:
        """Emit again what was collected, as one `emit` equation."""
        operands = arrays if self.depth else arrays[: len(self.leaves)]
        emit_p.bind(*operands, label=self.label, lanes=self.lanes, depth=self.depth or 0)

    def combine(self, earlier: list[Any], later: list[Any]) -> list[Any]:
        """One emission out of two, for channels that fold."""
        fold = self.channel.loops
        assert isinstance(fold, Fold)
        return self.flatten(fold.combine(self.unflatten(earlier), self.unflatten(later)))


def spec_of_emission(eqn: JaxprEqn, depth: int) -> Spec:
    """The type of an `emit` equation inside `depth` loops."""
    label = eqn.params["label"]
    avals: list[Any] = [var.aval for var in eqn.invars[: label.treedef.num_leaves]]
    folds = isinstance(label.channel.loops, Fold)
    return Spec(
        label=label,
        lanes=eqn.params["lanes"],
        depth=eqn.params["depth"] + depth if folds else None,
        leaves=tuple(jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals),
    )
