"""The handler of `shard_map`: one answer for all devices, the same on each of them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import JaxprEqn
from jax.sharding import PartitionSpec

from .._jax import axes_made_manual, shard_map_p
from ._calls import Call
from ._channel import Stack
from ._collector import HANDLERS, Arrays, Collector, Scope, evaluate
from ._contents import Spec


class ShardMap(Call):
    """Payloads that fold are folded over devices too; those that stack get an axis of devices."""

    def specs(self, collector: Collector, eqn: JaxprEqn, depth: int) -> list[Spec]:
        count = _count(eqn)
        return [
            spec.stacked(count) if isinstance(spec.channel.loops, Stack) else spec
            for spec in super().specs(collector, eqn, depth)
        ]

    def run(self, scope: Scope, eqn: JaxprEqn, args: Arrays) -> tuple[Arrays, list[Arrays]]:
        params = eqn.params
        jaxpr, consts = self.program(eqn)
        specs = scope.specs(jaxpr)
        axes = axes_made_manual(eqn)

        def function(operands: Any, *args: Any) -> tuple[Arrays, list[Arrays]]:
            outs, emitted = evaluate(scope.bound_to(operands), jaxpr, consts, args)
            pairs = zip(specs, emitted, strict=True)
            return outs, [_across(spec, arrays, axes, _count(eqn)) for spec, arrays in pairs]

        replicated, by_device = PartitionSpec(), PartitionSpec(axes)
        emitted_specs = [
            by_device if isinstance(spec.channel.loops, Stack) else replicated for spec in specs
        ]
        return jax.shard_map(
            function,
            mesh=params["mesh"],
            in_specs=(replicated, *params["in_specs"]),
            out_specs=(list(params["out_specs"]), emitted_specs),
            axis_names=set(axes),
            check_vma=params["check_vma"],
        )(scope.operands(), *args)


def _count(eqn: JaxprEqn) -> int:
    return math.prod(eqn.params["mesh"].shape[name] for name in axes_made_manual(eqn))


def _across(spec: Spec, arrays: Arrays, axes: tuple[str, ...], count: int) -> Arrays:
    """What all devices together emitted at one place."""
    if isinstance(spec.channel.loops, Stack):
        return [array[None] for array in arrays]
    everywhere = [_gather(array, axes, count) for array in arrays]
    merged = [array[0] for array in everywhere]
    for device in range(1, count):
        merged = spec.combine(merged, [array[device] for array in everywhere])
    return merged


def _gather(x: Any, axes: tuple[str, ...], count: int) -> Any:
    """The values of all devices, along a new leading axis.

    A sum in which each device fills its own row, since the type of a sum says that it is the
    same on all devices, and the type of an `all_gather` does not.
    """
    own = jax.lax.axis_index(axes) == jnp.arange(count)
    number = x.astype(jnp.int32) if x.dtype == bool else x
    rows = jnp.where(own.reshape(count, *(1,) * x.ndim), number[None], jnp.zeros((), number.dtype))
    return jax.lax.psum(rows, axes).astype(x.dtype)


HANDLERS[shard_map_p] = ShardMap()
