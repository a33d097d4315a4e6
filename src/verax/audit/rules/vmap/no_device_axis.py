"""A `pmap` whose arguments have no axis for the devices."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


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
        fix="Split the batch first: `n = jax.local_device_count()`, "
        "`x.reshape(n, x.shape[0] // n, *x.shape[1:])`, and merge the results again.",
        evidence=failure.calls(),
    )


RULE = Rule(
    code="VM203",
    name="no-device-axis",
    title="No axis for the devices",
    family="vmap",
    severity=Severity.ERROR,
    explanation="""\
`pmap` gives each device one entry of the leading axis, so that this axis is as long as there are
devices. A plain batch has to be split into (devices, batch of a device) first.
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
)
