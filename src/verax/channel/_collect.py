"""The transformation that users call: a function to the same function and its payloads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from ._channel import Channel, Payload, Site, recording
from ._collector import Collector, OnUnknown, Scope, evaluate
from ._contents import Spec, contents_of
from ._primitives import first_answer, wrap_keys
from ._trace import Trace

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Emission:
    """What came out of one `emit` in the program.

    `lanes` is the number of axes that `vmap` gave to every leaf of the payload; they lead, but
    stand behind the axes of loops around the `vmap` if the channel stacks. `path` holds, for
    channels that fold, the iterations (outermost loop first, along the last axis) that the
    payload comes from, and is `None` for channels that stack.
    """

    payload: Payload
    static: Hashable
    site: Site
    lanes: int
    path: Any


def collect(
    function: Callable[P, R], *channels: Channel, on_unknown: OnUnknown = "raise"
) -> Callable[P, tuple[R, list[Emission]]]:
    """Make a function that returns its value and what was emitted while computing it.

    The emissions stand in program order, one for each `emit` that was traced. `on_unknown`
    says what happens when one sits inside a primitive that no handler knows: "raise", "warn"
    or "ignore".
    """
    if not channels or not all(isinstance(channel, Channel) for channel in channels):
        raise TypeError(
            "collect(function, channel, ...) takes at least one Channel after the function, "
            f"got {channels!r}"
        )
    if on_unknown not in ("raise", "warn", "ignore"):
        raise ValueError(f"on_unknown is 'raise', 'warn' or 'ignore', not {on_unknown!r}")
    collector_channels = frozenset(channels)

    @functools.wraps(function)
    def collected(*args: P.args, **kwargs: P.kwargs) -> tuple[R, list[Emission]]:
        trace = Trace(function, *args, **kwargs)
        with recording(*channels):
            jaxpr, consts = trace.program()
        # Made anew for each call, since it keeps the programs that it has read.
        collector = Collector(collector_channels, on_unknown)
        answers = {query: first_answer(query) for query in contents_of(jaxpr).queries}
        scope = Scope(collector, (), answers)
        outs, emitted = evaluate(scope, jaxpr, consts, trace.arrays)
        pairs = zip(scope.specs(jaxpr), emitted, strict=True)
        return trace.result(outs), [_emission(spec, arrays) for spec, arrays in pairs]

    return collected


def _emission(spec: Spec, arrays: list[Any]) -> Emission:
    payload = wrap_keys(spec.label, arrays[: len(spec.leaves)])
    path = spec.unflatten(arrays).path
    return Emission(payload, spec.label.static, spec.label.site, spec.lanes, path)
