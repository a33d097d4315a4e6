"""What is verified of operations on chains of constants, held against compiled programs.

XLA folds the constants of a chain, and multiplies by `1 / c` instead of dividing by `c`, so that a
program may compute other numbers compiled than step by step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from verax.audit.rules.dataflow.undefined_operation import RULE
from verax.audit.run import audit_source

PROGRAM = """\
import jax.numpy as jnp

RANGES = {{"p": (0.0, 1.0), "x": (-3.0, 3.0)}}


def entry(p, x):
    z = {chain}
    return {operation}


def inputs():
    return jnp.ones(3), jnp.ones(3)
"""
_EPSILONS = "1e-9 1e-8 1e-7 1e-4 1e-45".split()
_CONSTANTS = [*_EPSILONS, *"1 1.0 0.5 2 3 6 41 49 1e30".split()]
_LINKS = "{z} + {c}|{z} - {c}|{c} - {z}|{z} * {c}|{z} / {c}|({c} + {d}) - {z}|jnp.clip({z}, {e}, 1)"
_LINKS += "|jnp.clip({z}, {e}, 1 - {e})|jnp.full(3, {c}) + {z}|{z} + {e}|1 - {z} + {e}|1 - {z}"
_OPERATIONS = ["jnp.log(z)", "jnp.sqrt(z)", "jnp.arctanh(z)", "jnp.arccos(z)", "1 / z"]


@st.composite
def chains(draw: st.DrawFn) -> str:
    """The text of a few operations with constants, one on the other."""
    text = draw(st.sampled_from(["p", "x", "(x + 3) / 6", "jnp.tanh(x)", "jnp.abs(x)"]))
    for _ in range(draw(st.integers(1, 4))):
        link = draw(st.sampled_from(_LINKS.split("|")))
        c, d = (draw(st.sampled_from(_CONSTANTS)) for _ in "cd")
        text = link.format(z=f"({text})", c=c, d=d, e=draw(st.sampled_from(_EPSILONS)))
    return text


def is_verified(text: str) -> bool:
    claims = audit_source(text, rules=(RULE,), strict=True).verified
    line = text[: text.index("return ")].count("\n") + 1
    return any(it.place is not None and it.place.line == line for it in claims)


@contextmanager
def optimised() -> Iterator[None]:
    """Programs are compiled as users have them, not in the short time that tests take for it."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", False)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def is_defined(text: str) -> bool:
    """Whether the operation of a program gives numbers, compiled and step by step."""
    own: dict[str, Any] = {}
    exec(text, own)
    rng = np.random.default_rng(0)
    p = np.concatenate([[0, 0, 1, 1, 0.5], rng.uniform(0, 1, 25)]).astype(np.float32)
    x = np.concatenate([[-3, 3, -3, 3, 0], rng.uniform(-3, 3, 25)]).astype(np.float32)
    given = jnp.asarray(p.reshape(-1, 3)), jnp.asarray(x.reshape(-1, 3))
    with optimised():
        compiled = jax.jit(jax.vmap(own["entry"]))(*given)
    with jax.disable_jit():
        stepwise = own["entry"](given[0][0], given[1][0])
    return bool(np.isfinite(compiled).all() and np.isfinite(stepwise).all())


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(chains(), st.sampled_from(_OPERATIONS))
def test_what_is_verified_is_defined_when_it_is_compiled(chain: str, operation: str) -> None:
    text = PROGRAM.format(chain=chain, operation=operation)
    if is_verified(text):
        event("verified")
        assert is_defined(text), text


# XLA compiles the first to `1 - p` with JAX 0.10, and no more with 0.12: nothing promises either.
FOLDED = [("1 - p + 1e-9", "jnp.log(z)"), ("jnp.full(3, 1e-9) + (1 - p)", "1 / z")]
ON_PAPER = [
    ("(1 + 1e-9) - p", "jnp.log(z)"),  # a literal that is one
    ("jnp.clip(p, 1e-8, 1 - 1e-8)", "jnp.arctanh(z)"),
    ("1 - (x + 3) / 6", "jnp.sqrt(z)"),  # compiled to `1 - (x + 3) * 0.16666667`
]


@pytest.mark.parametrize(("chain", "operation"), [*FOLDED, *ON_PAPER])
def test_an_entry_that_holds_only_on_paper_is_not_there(chain: str, operation: str) -> None:
    text = PROGRAM.format(chain=chain, operation=operation)
    assert not is_verified(text)
    is_folding = jax.__version_info__ < (0, 11)
    if is_folding or (chain, operation) in ON_PAPER:
        assert not is_defined(text)


@pytest.mark.parametrize(
    ("chain", "operation"),
    [
        ("1 - p + 1e-6", "jnp.log(z)"),
        ("p + 1e-9", "jnp.log(z)"),
        ("jnp.clip(p, 1e-6, 1 - 1e-6)", "jnp.arctanh(z)"),
        ("1.001 - (x + 3) / 6", "jnp.sqrt(z)"),
    ],
)
def test_what_is_enough_is_verified(chain: str, operation: str) -> None:
    text = PROGRAM.format(chain=chain, operation=operation)
    assert is_defined(text)
    assert is_verified(text)
