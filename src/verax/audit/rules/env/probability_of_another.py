"""The probability of an action that is not the one which was drawn."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.names import names_of
from ...source.queries.nodes import calls_around
from ...source.values import Data
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Functions that draw an action and ask for the probability of something else."""
    for frame in facts.own_frames:
        action, log_prob = _named(frame, _ACTIONS), _named(frame, _LOG_PROBS)
        if action is None or log_prob is None or not _asks(frame, log_prob[1]):
            continue
        drawn = _drawn(action[1])
        if not drawn or not drawn.isdisjoint(log_prob[1].ancestors()):
            continue
        if _knows_another(facts, frame, log_prob[1]) or log_prob[1].place is None:
            continue
        yield RULE.finding(
            log_prob[1].place,
            current=f"`{action[0]}` is drawn here, and `{log_prob[0]}` has nothing to do with "
            "what was drawn",
            expected="the probability is that of the action which is taken",
            fix=f"ask for the probability of `{action[0]}`",
            evidence=(Evidence("the action is drawn here", action[1].place),),
            engine=Engine.SOURCE,
        )


_ACTIONS = ("action", "actions", "act", "a")
_LOG_PROBS = ("log_prob", "log_probs", "logp", "logprob", "log_pi", "action_log_prob", "lp")


def _named(frame: Frame, names: tuple[str, ...]) -> tuple[str, Node] | None:
    """What a function itself makes under one of some names."""
    for name in names:
        value = frame.environment.get(name)
        if isinstance(value, Data) and name not in frame.given:
            return name, value.node
    return None


def _asks(frame: Frame, node: Node) -> bool:
    """Whether a value is what a function that gives logarithms of probabilities returns."""
    for inner, syntax in calls_around(node):
        if isinstance(syntax, ast.Call) and syntax.args and _called(syntax) in _LOGARITHMS:
            return True
        if inner is frame:
            break
    return False


_LOGARITHMS = frozenset("log_prob logprob logpdf log_pdf log_probability".split())


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


_DRAWS = ("normal", "categorical", "uniform", "sample", "choice", "gumbel", "truncated_normal")


def _drawn(action: Node) -> set[Node]:
    """The draws that an action is made from, and the action itself."""
    draws = {
        it
        for it in action.ancestors()
        if it.operation.rpartition(".")[2] in _DRAWS and it.region is action.region
    }
    return draws | {action} if draws else set()


def _knows_another(facts: SourceFacts, frame: Frame, node: Node) -> bool:
    """Whether the probability is that of an action which somebody has given."""
    given = (it for it in node.ancestors() if it.operation in ("field", "item", "parameter"))
    names = (name for it in given for name in names_of(facts, it, frame))
    return any(not _OTHERS.isdisjoint(words_of(name)) for name in names)


_OTHERS = frozenset("action actions act acts".split())


RULE = Rule(
    code="EN019",
    name="probability-of-another",
    title="The probability is not that of the action which was drawn",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
An action is drawn from a distribution, and stored with its log-probability for the policy gradient.
The log-probability of the distribution's mean, or of another draw, has the same shape and makes
every ratio of probabilities wrong.

Reported where a function draws an action and calls `log_prob` (by their names) on something that
depends neither on the draw nor on an action that the function was given.""",
    wrong="""\
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm


def act(key, mean, std):
    action = mean + std * jax.random.normal(key, mean.shape)
    log_prob = norm.logpdf(mean, mean, std)
    return action, log_prob


def entry(key, obs):
    return act(key, jnp.tanh(obs), 0.5)


def inputs():
    return jax.random.key(0), jnp.ones(4)
""",
    right="""\
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm


def act(key, mean, std):
    action = mean + std * jax.random.normal(key, mean.shape)
    log_prob = norm.logpdf(action, mean, std)
    return action, log_prob


def entry(key, obs):
    return act(key, jnp.tanh(obs), 0.5)


def inputs():
    return jax.random.key(0), jnp.ones(4)
""",
    source=check_source,
)
