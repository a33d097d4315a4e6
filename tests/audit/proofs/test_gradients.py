"""What is verified of gradients, held against derivatives and perturbed runs."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import event, given, settings

from verax.audit.rules.grad.gradient_blocked import RULE
from verax.audit.run import audit_callable, audit_source

from .gradients import FIXED, FOOTER, HEADER, listed, loses_gradient, losses


def verified(program: str) -> list[str]:
    """The claims about the gradient of a program's loss."""
    report = audit_source(HEADER + program + FOOTER, rules=(RULE,), strict=True)
    return [it.claim for it in report.verified]


@settings(max_examples=settings().max_examples // 2)
@given(losses())
def test_no_gradient_is_lost_where_it_is_verified_to_arrive(program: str) -> None:
    claims = verified(program)
    event("verified" if claims else "not verified")
    if claims:
        assert not loses_gradient(program), program


ENTROPY = """
def terms(w, v, b, x):
    logits = w * x + b * v
    action = jnp.argmax(logits)
    policy = -{policy}
    entropy = -jnp.sum(jax.nn.softmax(logits) * jax.nn.log_softmax(logits))
    return [policy, -0.01 * entropy]
"""


@pytest.mark.parametrize(
    ("policy", "is_lost"),
    [("jax.nn.one_hot(action, 3) @ x", True), ("jax.nn.log_softmax(logits)[action] * x[0]", False)],
)
def test_a_term_without_gradient_beside_one_that_has_it(policy: str, is_lost: bool) -> None:
    program = ENTROPY.format(policy=policy)
    assert bool(loses_gradient(program)) == is_lost
    claims = [] if is_lost else ["the gradient of `loss` reaches `w`, `v`, `b`"]
    assert verified(program) == claims


ONLY = """
def terms(w, v, b, x):
    return [jnp.sum({text}), jnp.sum(v) * b]
"""


@pytest.mark.parametrize("way", [it.format(a="w", c="x") for it in listed(FIXED)])
def test_what_is_the_same_whatever_it_is_made_of(way: str) -> None:
    program = ONLY.format(text=way)
    assert loses_gradient(program) == "parameters [0] are not trained"
    assert not verified(program)


@pytest.mark.parametrize(
    "way",
    [
        "jax.nn.softmax(w) * x",
        "jnp.clip(w, -2.0, 3.0) * x",
        "jnp.where(jnp.arange(3) > 1, w, x)",
        "scan(lambda y, e: (y * e, None), w[0], x)[0]",
        "fori_loop(0, 1, lambda i, y: y + w, x)",
        "w.at[0].set(x[0])",
        "(w - jnp.mean(w)) * x",
    ],
)
def test_what_is_not_the_same(way: str) -> None:
    program = ONLY.format(text=way)
    assert not loses_gradient(program)
    assert verified(program)


LIBRARY = """
import jax
@jax.custom_vjp
def gate(w):
    return 2 * w
gate.defvjp(lambda w: (2 * w, None), lambda _, g: (0 * g,))
"""


def test_a_rule_of_another_library_proves_nothing() -> None:
    library: dict[str, Any] = {}
    exec(compile(LIBRARY, str(Path(sysconfig.get_paths()["purelib"], "gates.py")), "exec"), library)
    for function, is_known in ((library["gate"], False), (jax.nn.relu, True)):
        report = audit_callable(
            lambda w, f=function: jax.grad(lambda w: jnp.sum(f(w)))(w),
            (jnp.ones(3),),
            {},
            rules=(RULE,),
            strict=True,
        )
        assert bool(report.verified) == is_known
