"""Functions that JAX calls back on the host, and what it prints there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import (
    Constant,
    Data,
    Value,
    mapped,
)
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("jax.pure_callback", "jax.io_callback", "jax.debug.callback")
def _callback(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    region = site.region("callback")
    start = 1 if name == "jax.debug.callback" else 2

    def on_host(leaf: Data) -> Data:
        return Data(leaf.node, False, leaf.is_array, leaf.type)

    if args:
        given = [mapped(it, on_host) for it in args[start:]]
        named = {key: mapped(it, on_host) for key, it in keywords.items()}
        machine.call(site.inside(region), args[0], given, named)
    if name == "jax.debug.callback":
        return Constant(None)
    return machine.opaque(name, site, args[start:], traced=True if site.frame.is_staged else None)


@handles("jax.debug.print", "jax.debug.breakpoint", "jax.debug.visualize_array_sharding")
def _debug(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    return Constant(None)
