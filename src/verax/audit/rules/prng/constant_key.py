"""A random key that is made from a constant inside of the program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report keys that every call of the program makes anew, all the same."""
    from ...trace.key_uses import live_uses, name_of

    seen: set[object] = set()
    for use in live_uses(facts):
        root = use.key.line()[-1]
        fixed = root.kind == "constant" or (root.kind == "seed" and root.index[0][0] == "constant")
        if use.kind != "draw" or not fixed or root in seen:
            continue
        seen.add(root)
        name = name_of(facts, root)
        step = root.step or use.step
        if not facts.is_users(step):
            continue  # A library that fixes its own seed has documented it.
        yield RULE.finding(
            facts.place(step),
            current=f"`{name}` is fixed inside of the program: every call draws the same numbers",
            expected="the key comes in as an argument",
            fix="take the key as a parameter, and make it where the program is called",
            evidence=(Evidence("a draw from it", facts.place(use.step)),),
        )


RULE = Rule(
    code="RK005",
    name="constant-key",
    title="A random key is made from a constant inside of the program",
    family="prng",
    severity=Severity.CRITICAL,
    warns=True,
    explanation="""\
`jax.random.key(0)` inside of a jitted function, or a key that it captures, is part of the compiled
program: each call draws the same numbers. That is right for numbers that are meant to be fixed, and
wrong for noise, dropout or exploration.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x):
    key = jax.random.key(0)
    return x + jax.random.normal(key, x.shape)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(key, x):
    return x + jax.random.normal(key, x.shape)

def inputs():
    return jax.random.key(0), jnp.ones(3)
""",
    trace=check,
)
