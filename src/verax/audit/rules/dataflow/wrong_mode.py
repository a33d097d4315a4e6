"""A flag of training that is handed on as its opposite."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Edit, Engine, Finding, Place, Severity
from ...source.edits import edited, written
from ...source.remember import each
from ...source.text import text_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame

_TRAINS = frozenset("train training is_training is_train train_mode".split())
_EVALUATES = frozenset(
    "deterministic use_running_average inference eval evaluate is_eval eval_mode is_evaluation "
    "inference_mode".split()
)
_EVALUATIONS = frozenset("eval evaluate evaluation validate validation".split())
# Such a function has its reasons.
_BOTH = frozenset("train training mc dropout uncertainty ensemble sample samples".split())


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls that hand on a flag under a name of the opposite meaning, or evaluate by training."""
    for function, runs in facts.functions():
        for call in each(function, ast.Call):
            for keyword in call.keywords:
                if keyword.arg in _TRAINS or keyword.arg in _EVALUATES:
                    yield from _of_keyword(runs[0], function, call, keyword)


def _of_keyword(
    frame: Frame, function: ast.AST, call: ast.Call, keyword: ast.keyword
) -> Iterator[Finding]:
    name, value = keyword.arg or "", keyword.value
    place = frame.place(value)
    given = _name(value)
    opposite = _EVALUATES if name in _TRAINS else _TRAINS
    is_turned = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    turned = _name(value.operand) if isinstance(value, ast.UnaryOp) and is_turned else ""
    if given in opposite or (turned == name and turned):
        right = f"not {written(frame, value) or given}" if given else turned
        yield _finding(
            place,
            f"`{name}` is given `{text_of(value)}`, which means the opposite",
            f"pass `{name}={right}`",
            edited(frame, {value: right}) if given else None,
        )
    elif isinstance(value, ast.Constant) and value.value is (name in _TRAINS):
        title = getattr(function, "name", "")
        if _is_evaluation(title) and _applies_model(call, name):
            yield _finding(
                place,
                f"`{title}` calls the model with `{name}={value.value}`: as in training, with "
                "dropout and the statistics of the batch",
                f"pass `{name}={not value.value}`",
                edited(frame, {value: str(not value.value)}),
            )


def _finding(place: Place, current: str, fix: str, edit: Edit | None) -> Finding:
    return RULE.finding(
        place,
        current=current,
        expected="the model trains in training, and is deterministic in evaluation",
        fix=fix,
        engine=Engine.SOURCE,
        edit=edit,
    )


def _name(value: ast.expr) -> str:
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def _is_evaluation(title: str) -> bool:
    from ...words import words_of

    words = frozenset(words_of(title))
    return not words.isdisjoint(_EVALUATIONS) and words.isdisjoint(_BOTH)


def _applies_model(call: ast.Call, flag: str) -> bool:
    """Whether a call applies a model; data sets have a flag of training, too."""
    named = {it.arg for it in call.keywords}
    return (
        _name(call.func) in ("apply", "apply_fn")
        or not named.isdisjoint(("rngs", "mutable"))
        or flag in ("deterministic", "use_running_average")
    )


RULE = Rule(
    code="DF111",
    name="wrong-mode",
    title="Training and evaluation are mixed up",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`deterministic`, `use_running_average` and `inference` mean the opposite of `train`. Where one is
handed on as the other, dropout is off in training and on in evaluation, and running averages are
never updated. Nothing fails, and the results are only a little worse.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def dropout(x, key, *, deterministic):
    if deterministic:
        return x
    return x * jax.random.bernoulli(key, 0.5, x.shape) * 2.0

def model(params, x, key, train):
    return jnp.tanh(dropout(x @ params, key, deterministic=train))

def entry(params, x, key):
    return model(params, x, key, train=True)

def inputs():
    return jnp.ones((3, 4)), jnp.ones((2, 3)), jax.random.key(0)
""",
    right="""\
import jax
import jax.numpy as jnp

def dropout(x, key, *, deterministic):
    if deterministic:
        return x
    return x * jax.random.bernoulli(key, 0.5, x.shape) * 2.0

def model(params, x, key, train):
    return jnp.tanh(dropout(x @ params, key, deterministic=not train))

def entry(params, x, key):
    return model(params, x, key, train=True)

def inputs():
    return jnp.ones((3, 4)), jnp.ones((2, 3)), jax.random.key(0)
""",
    source=check_source,
)
