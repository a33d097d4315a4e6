"""An index beyond the keys that a split gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report indices that leave an array of keys."""
    from ...trace.key_uses import call_chain

    for it in facts.keys.clamped:
        if not any(out in facts.live for out in it.step.outputs):
            continue
        split = next((key.step for key in it.keys if key.kind == "child" and key.step), None)
        chain = call_chain(it.step)
        made = () if split is None else (Evidence("the keys are made here", facts.place(split)),)
        yield RULE.finding(
            chain[0] if chain else facts.place(it.step),
            current=(
                f"index {it.index} is beyond the {it.count} keys that there are; JAX takes the "
                f"last one, {it.count - 1}, instead, so that its numbers come twice"
            ),
            expected=f"at least {it.index + 1} keys",
            fix=f"split into {it.index + 1} keys",
            evidence=made,
        )


RULE = Rule(
    code="RK004",
    name="too-few-keys",
    title="There are fewer random keys than draws",
    family="prng",
    severity=Severity.CRITICAL,
    explanation="""\
An index beyond the end of an array is clamped without a word. On an array of random keys, that
gives the last key again: two layers start with the same weights, two steps see the same noise.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    keys = jax.random.split(key, 2)
    for i in range(3):
        x = x @ jax.random.normal(keys[i], (4, 4))
    return x

def inputs():
    return jax.random.key(0), jnp.ones((2, 4))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(key, x):
    keys = jax.random.split(key, 3)
    for i in range(3):
        x = x @ jax.random.normal(keys[i], (4, 4))
    return x

def inputs():
    return jax.random.key(0), jnp.ones((2, 4))
""",
    trace=check,
)
