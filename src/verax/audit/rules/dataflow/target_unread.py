"""A target network that a function is given and never asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.parameters import parameters
from ...source.queries.reads import is_ignored, reads_of
from ...source.remember import remembered
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.parameters import NamedFunction

_NETWORKS = frozenset("params parameters net network model critic weights q variables".split())


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Parameters of that name that a function does not read, while it reads their online kin."""
    for function, runs in facts.functions():
        if not any(frame.returns for frame in runs) or _has_signature_of_kin(facts, function):
            continue
        unread = [it for it in parameters(function) if _is_target(it.arg)]
        unread = [it for it in unread if is_ignored(function, it.arg)]
        read = [it.arg for it in parameters(function) if reads_of(function).count(it.arg)]
        for argument in unread:
            name = argument.arg
            names = _online_names(name)
            online = next((it for it in read if it in names), None)
            if online is not None:
                yield RULE.finding(
                    runs[0].place(argument),
                    current=f"`{name}` is never read: only `{online}` is asked",
                    expected="the target network says what the online one is to learn",
                    fix=f"compute the target with `{name}`, or leave it out",
                    engine=Engine.SOURCE,
                )


def _has_signature_of_kin(facts: SourceFacts, function: NamedFunction) -> bool:
    """Whether it is a method of classes that derive from each other, which all take the same."""
    return function in _of_kin(facts)


@remembered
def _of_kin(facts: SourceFacts) -> set[ast.stmt]:
    """What is written in the bodies of such classes."""
    kin = [it for it in facts.record.classes if it.bases or it.derived]
    return {statement for cls in kin for statement in cls.syntax.body}


def _is_target(name: str) -> bool:
    from ...words import words_of

    words = words_of(name)
    return "target" in words and not _NETWORKS.isdisjoint(words)


def _online_names(target: str) -> set[str]:
    """What the network that is trained is called beside its target."""
    rest = [it for it in target.split("_") if it != "target"]
    kin = "_".join(rest)
    return {kin, f"online_{kin}", f"{kin}_online", "online"}


RULE = Rule(
    code="DF118",
    name="target-unread",
    title="A target network is handed in and never asked",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A loss takes the parameters of the online and of the target network, and applies the online ones
twice. The values that it learns chase themselves, and training becomes unstable; nothing fails.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(params, target_params, x, reward):
    goal = jax.lax.stop_gradient(reward + 0.9 * x @ params)
    return jnp.mean((x @ params - goal) ** 2)

def entry(params, target, x, reward):
    return jax.grad(loss)(params, target, x, reward)

def inputs():
    return jnp.ones(3), jnp.ones(3), jnp.ones((4, 3)), jnp.ones(4)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(params, target_params, x, reward):
    goal = jax.lax.stop_gradient(reward + 0.9 * x @ target_params)
    return jnp.mean((x @ params - goal) ** 2)

def entry(params, target, x, reward):
    return jax.grad(loss)(params, target, x, reward)

def inputs():
    return jnp.ones(3), jnp.ones(3), jnp.ones((4, 3)), jnp.ones(4)
""",
    source=check_source,
)
