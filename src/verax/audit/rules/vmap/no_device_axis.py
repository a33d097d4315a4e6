"""A `pmap` whose arguments have no axis for the devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.library.collectives import DEVICES
from ...source.queries.arrays import array_in_words
from ...source.queries.loops.devices import settles_devices, states_of_one_device
from ...source.queries.loops.maps import applied_maps, is_called_for_real, mapped_axes
from ...source.shapes import Size
from ...source.shapes.dims import differ
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Applied
    from ...source.facts import SourceFacts
    from ...source.shapes import Dim, Shape
    from ...trace.facts import Facts

_DEVICES = set(
    "device devices dev devs replica replicas shard shards core cores host hosts".split()
)


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "devices"."""
    import jax

    failure = facts.failure
    if failure is None or failure.kind != "devices":
        return
    count = jax.local_device_count()
    text = failure.statement.text if failure.statement else "pmap"
    operands = failure.operands_in_words()
    devices = f"{count} device{'s' * (count != 1)}"
    yield RULE.finding(
        failure.place,
        current=f"`{text}` spreads the leading axis over {devices}, which it does not fit"
        + (f"; {operands}" if operands else ""),
        expected=f"mapped arguments of pmap have a leading axis of {count}, one entry a device",
        fix=_FIX,
        evidence=failure.calls(),
    )


_FIX = (
    "Split the batch first into `jax.local_device_count()` parts along a new leading axis, and "
    "merge the results again."
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Arguments of `pmap` whose mapped axis is named otherwise, or is not made for the devices."""
    for event in applied_maps(facts):
        if event.transformed.kind != "pmap":
            continue
        for leaf, axis, name in mapped_axes(event):
            by_name = bool(name) and not _DEVICES & set(words_of(name))
            if not by_name and (name or not _is_written(event, leaf.node.shape, axis)):
                continue
            yield RULE.finding(
                event.place,
                current=f"`{event.text}` spreads axis {axis} of {array_in_words(facts, leaf)} over "
                "the devices, and is not made as long as there are of them",
                expected="mapped arguments of pmap have a leading axis with one entry a device",
                fix=_FIX,
                confidence=Confidence.LIKELY,
                engine=Engine.SOURCE,
            )
            break
        yield from _not_copied(facts, event)


def _not_copied(facts: SourceFacts, event: Applied) -> Iterator[Finding]:
    """The state of an optimiser, which nobody has made one of for each device."""
    mapped = [leaf for leaf, _, _ in mapped_axes(event)]
    for state in states_of_one_device(facts, mapped):
        name = facts.name_of(state)
        yield RULE.finding(
            event.place,
            current=f"`{event.text}` spreads `{name}` over the devices, which is the state of one "
            "optimiser; its parameters were copied for each device, and it was not",
            expected="mapped arguments of pmap have a leading axis with one entry a device",
            fix=f"Copy `{name}` as the parameters are, or start it inside of a `jax.pmap`.",
            confidence=Confidence.LIKELY,
            evidence=(Evidence("the state is made here", state.node.place),),
            engine=Engine.SOURCE,
        )
        return


def _is_written(event: Applied, shape: Shape, axis: int) -> bool:
    """Whether a known call gives an axis of another length than the number of devices."""
    if not isinstance(shape, tuple) or not -len(shape) <= axis < len(shape):
        return False
    size: Dim = shape[axis]
    if size != DEVICES and DEVICES in shape:
        return True  # Somebody has made the axis, and put it somewhere else.
    if isinstance(size, Size):
        return size != DEVICES and differ(size, DEVICES)
    is_number = type(size) is int and size > 1 and is_called_for_real(event.frame)
    return is_number and not settles_devices(event.frame.module)


RULE = Rule(
    code="VM203",
    name="no-device-axis",
    title="No axis for the devices",
    family="vmap",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
`pmap` gives each device one entry of the leading axis, so that this axis is as long as there are
devices. A plain batch has to be split into (devices, batch of a device) first, and the state of an
optimiser copied for each device, as its parameters are.
""",
    wrong="""\
import jax
import jax.numpy as jnp

parallel = jax.pmap(lambda x: x.sum())

def entry(x):
    return parallel(x)

def inputs():
    return (jnp.ones((16 * jax.local_device_count(), 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp

parallel = jax.pmap(lambda x: x.sum())

def entry(x):
    n = jax.local_device_count()
    return parallel(x.reshape(n, x.shape[0] // n, 3))

def inputs():
    return (jnp.ones((16 * jax.local_device_count(), 3)),)
""",
    trace=check,
    source=check_source,
)
