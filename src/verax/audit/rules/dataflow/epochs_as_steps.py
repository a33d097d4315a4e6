"""A schedule that is told epochs where it counts steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.remember import walked
from ...source.text import text_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

# Schedules by name, with the positions at which they take numbers of steps.
_SCHEDULES = {
    "constant_schedule": (),
    "cosine_decay_schedule": (1,),
    "cosine_onecycle_schedule": (0,),
    "exponential_decay": (1,),
    "linear_onecycle_schedule": (0,),
    "linear_schedule": (2,),
    "polynomial_schedule": (3,),
    "warmup_constant_schedule": (2,),
    "warmup_cosine_decay_schedule": (2, 3),
    "warmup_exponential_decay_schedule": (2, 3),
    "join_schedules": (1,),
}
_STEPS = frozenset("decay_steps transition_steps warmup_steps transition_begin boundaries".split())


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Schedules of optax that get a number of epochs as it is."""
    for name, positions in _SCHEDULES.items():
        for call in facts.calls((f"optax.{name}", f"optax.schedules.{name}")):
            syntax = call.syntax
            if not isinstance(syntax, ast.Call):
                continue
            given = [it for i, it in enumerate(syntax.args) if i in positions]
            given += [it.value for it in syntax.keywords if it.arg in _STEPS]
            for value in given:
                for it in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
                    if _is_epochs(it) and _has_several_steps(facts.module.syntax):
                        yield RULE.finding(
                            call.frame.place(it),
                            current=f"`{text_of(it)}` counts epochs, and the schedule steps of "
                            "the optimiser: it is over after the first few of them",
                            expected="a number of updates",
                            fix=f"multiply `{text_of(it)}` by the number of updates in an epoch",
                            engine=Engine.SOURCE,
                        )


_NAMES = ("id", "attr", "arg")


def _has_several_steps(program: ast.Module) -> bool:
    """Whether an epoch has more than one step here; it has one if all data are one batch."""
    from ...words import words_of

    for node in walked(program):
        name = next((it for at in _NAMES if isinstance(it := getattr(node, at, None), str)), "")
        if {"per", "epoch"} <= set(words_of(name)):
            return True
        if isinstance(node, ast.For) and {"epoch", "epochs"} & set(words_of(text_of(node.target))):
            inside = [it for statement in node.body for it in walked(statement)]
            if any(isinstance(it, (ast.For, ast.While)) or _is_scan(it) for it in inside):
                return True
    return False


def _is_scan(syntax: ast.AST) -> bool:
    called = syntax.func if isinstance(syntax, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in ("scan", "fori_loop")


def _is_epochs(value: ast.expr) -> bool:
    """Whether something is a number of epochs by its name, not multiplied by anything."""
    from ...words import words_of

    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        name = str(value.slice.value)
    else:
        name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    words = words_of(name)
    has_steps = not {"step", "steps", "per", "iterations", "updates", "in"}.isdisjoint(words)
    return ("epochs" in words or "epoch" in words) and not has_steps


RULE = Rule(
    code="DF112",
    name="epochs-as-steps",
    title="A schedule gets epochs where it counts steps",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
optax counts calls of `update`. A schedule that is to last for ten epochs, and is told ten, is at
its end after ten batches; the rest of the training goes on with the last learning rate.

Reported only where the program shows that an epoch has several steps: by a number of steps per
epoch, or by a loop inside of the one over epochs.
""",
    wrong="""\
import jax.numpy as jnp
import optax

def optimiser(rate, epochs, steps_per_epoch):
    return optax.adam(optax.cosine_decay_schedule(rate, decay_steps=epochs))

def entry(params):
    return optimiser(1e-3, 10, 500).init(params)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax.numpy as jnp
import optax

def optimiser(rate, epochs, steps_per_epoch):
    return optax.adam(optax.cosine_decay_schedule(rate, decay_steps=epochs * steps_per_epoch))

def entry(params):
    return optimiser(1e-3, 10, 500).init(params)

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
